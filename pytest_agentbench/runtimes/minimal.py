"""A small agent of our own against the model gateway."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Command, Completed, Execution, Usage, View
from pytest_agentbench.files import read_regular
from pytest_agentbench.flag import Flag
from pytest_agentbench.gateway.report import provider_status
from pytest_agentbench.runtimes.protocol import RuntimeInfo, own_version
from pytest_agentbench.status import Status
from pytest_agentbench.trace.canonical import read_events
from pytest_agentbench.trace.events import prompted
from pytest_agentbench.trial import AgentRun, RuntimeProfile

MAX_TURNS = 40
_SCRIPTS = ("minimal_agent.py", "hands.py", "pipe.py")


class Minimal:
    """Drives ``minimal_agent.py``. The option ``max_turns`` bounds the requests of a run."""

    name = "minimal"
    skills_folder = ".agents/skills"

    def __init__(self, profile: RuntimeProfile) -> None:
        profile.only(("max_turns",))
        self.version = own_version(profile)
        self.max_turns = profile.options.get("max_turns", MAX_TURNS)
        if type(self.max_turns) is not int or self.max_turns < 1:
            raise profile.refuse(
                f"max_turns must be a whole number above 0, not {self.max_turns!r}"
            )

    def probe(self) -> RuntimeInfo:
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in _paths())).hexdigest()
        return RuntimeInfo(version=self.version, digest=digest, endpoint=True)

    def prepare(self, run: AgentRun) -> None:
        assert run.model is not None
        config = {
            "prompt": run.prompt,
            "model": run.model.name,
            "socket": str(run.model.socket),
            "token": run.model.token,
            "max_turns": self.max_turns,
            "skills": self.skills_folder,
            "events": str(run.state / "events.jsonl"),
            "outcome": str(run.state / "outcome.json"),
        }
        (run.state / "agent.json").write_text(json.dumps(config))

    def command(self, run: AgentRun) -> Command:
        script, *others = _paths()
        return Command(
            argv=(sys.executable, "-I", "-S", str(script), str(run.state / "agent.json")),
            cwd=run.workspace,
            env={},
            view=View(writable=(run.state,), readable=(script, *others)),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        reading = read_events(run.state / "events.jsonl")
        outcome = _outcome(run.state / "outcome.json")
        status, message = _status(outcome, done)
        return Execution(
            status=status,
            message=message,
            trace=prompted(run.prompt, reading.events),
            usage=Usage(
                input_tokens=_count(outcome, "input_tokens"),
                output_tokens=_count(outcome, "output_tokens"),
                requests=_count(outcome, "requests"),
            ),
            flags=reading.flags + (Flag.MAX_TURNS,) * (outcome.get("outcome") == "max_turns"),
        )


def _paths() -> list[Path]:
    return [Path(__file__).resolve().with_name(name) for name in _SCRIPTS]


def _outcome(path: Path) -> dict[str, Any]:
    """What the agent wrote of its end; empty when it was killed before, or wrote nonsense."""
    try:
        data = json.loads(read_regular(path, 1 << 20))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _status(outcome: dict[str, Any], done: Completed) -> tuple[Status, str]:
    message = str(outcome.get("message", ""))[:2000]
    match outcome.get("outcome"):
        case "completed" | "max_turns":
            return Status.COMPLETED, ""
        case "refusal":
            return Status.REFUSAL, message
        case "unreachable":
            return Status.PROVIDER_ERROR, f"the model cannot be reached: {message}"
        case "bad_reply":
            return Status.PROVIDER_ERROR, f"the model's answer makes no sense: {message}"
        case "http_error":
            http = _count(outcome, "http_status") or 0
            status = provider_status(http, message, str(outcome.get("code", "")))
            return status or Status.AGENT_ERROR, f"the model answered {http}: {message}"
    said = done.stderr.decode("utf-8", "replace").strip()[-2000:]
    return Status.AGENT_ERROR, f"the agent ended with exit code {done.exit_code}: {said}"


def _count(outcome: dict[str, Any], name: str) -> int | None:
    value = outcome.get(name)
    return value if type(value) is int else None
