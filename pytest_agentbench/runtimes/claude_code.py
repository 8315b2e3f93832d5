"""Claude Code, run without a terminal: ``claude -p``."""

from __future__ import annotations

import json
import uuid
from typing import Any

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.ending import ended
from pytest_agentbench.runtimes.installed import needed
from pytest_agentbench.runtimes.locate import Package
from pytest_agentbench.runtimes.packaged import Packaged
from pytest_agentbench.status import Status
from pytest_agentbench.trace.claude_code import parse
from pytest_agentbench.trace.events import prompted
from pytest_agentbench.trace.transcript import Rows, read_rows
from pytest_agentbench.trial import AgentRun

_ALIASES = ("FABLE", "OPUS", "SONNET", "HAIKU")


class ClaudeCode(Packaged):
    """Drives ``claude -p`` with a configuration of its own. Options: see docs/runtimes.md."""

    name = "claude-code"
    skills_folder = ".claude/skills"
    package = Package(
        runtime="claude-code",
        registry="npm",
        package="@anthropic-ai/claude-code",
        program="claude",
        tested="2.1.332",
    )
    capabilities = ("agents", "network", "skills")

    def prepare(self, run: AgentRun) -> None:
        folder = run.state / "claude"
        folder.mkdir()
        # Before it fetches a page the program would ask its maker's server whether it may.
        settings = {"skipWebFetchPreflight": True}
        (folder / "settings.json").write_text(json.dumps(settings))

    def command(self, run: AgentRun) -> Command:
        assert run.model is not None
        program = self.program
        # A search is the provider's to run: it would lead out of a sandbox without a network.
        searches = "network" in run.trial.scenario.requires
        # A line that begins with a slash would be a command to the program, and never reach
        # the model; one after an empty line does.
        slash = run.prompt.lstrip().startswith("/")
        return Command(
            argv=(
                *(str(program), "-p", "--output-format=json", f"--session-id={_session(run)}"),
                *("--permission-mode=bypassPermissions", f"--model={run.model.name}"),
                *(() if searches else ("--disallowedTools=WebSearch",)),
                *self.args,
            ),
            cwd=run.workspace,
            env={**_environment(run), **self.env},
            stdin=("\n" * slash + run.prompt).encode("utf-8", "replace"),
            view=View(writable=(run.state,), readable=needed(program)),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        folder, session = run.state / "claude" / "projects", _session(run)
        main = [read_rows(path) for path in folder.glob(f"*/{session}.jsonl")][:1] or [Rows()]
        agents = [read_rows(p) for p in sorted(folder.glob(f"*/{session}/subagents/*.jsonl"))]
        found = parse(main[0].rows, [file.rows for file in agents])
        status, message = ended(found.ending, done)
        flags = [flag for file in (*main, *agents) for flag in file.flags]
        if found.ending is None and _result(done).get("subtype") == "error_max_turns":
            status, message = Status.COMPLETED, ""
            flags.append(Flag.MAX_TURNS)
        return Execution(
            status=status,
            message=message,
            trace=prompted(run.prompt, found.events),
            usage=found.usage,
            flags=tuple(dict.fromkeys(flags)),
        )


def _session(run: AgentRun) -> str:
    """The id that names the transcript: the run's alone, and the harness's choice."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"agentbench:{run.id}"))


def _environment(run: AgentRun) -> dict[str, str]:
    """The harness tries again itself, and ends what hangs; other models than the run's are it."""
    assert run.model is not None
    patience = str(int(run.seconds * 1000) + 60_000)
    return {
        "CLAUDE_CONFIG_DIR": str(run.state / "claude"),
        "ANTHROPIC_BASE_URL": run.model.url,
        "ANTHROPIC_API_KEY": run.model.token,
        "ANTHROPIC_SMALL_FAST_MODEL": run.model.name,
        **{f"ANTHROPIC_DEFAULT_{alias}_MODEL": run.model.name for alias in _ALIASES},
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "API_TIMEOUT_MS": patience,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        # Without it the program refuses to run as root.
        "IS_SANDBOX": "1",
    }


def _result(done: Completed) -> dict[str, Any]:
    """What the program printed of its end; empty when it was killed before."""
    try:
        data = json.loads(done.stdout)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
