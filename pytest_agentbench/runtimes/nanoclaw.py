"""NanoClaw's agent-runner, run for one message under Bun, without its host and containers."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.runtimes import nanoclaw_session
from pytest_agentbench.runtimes.ending import ended
from pytest_agentbench.runtimes.nanoclaw_checkout import checkout
from pytest_agentbench.runtimes.protocol import RuntimeInfo
from pytest_agentbench.trace.events import prompted
from pytest_agentbench.trace.nanoclaw import parse
from pytest_agentbench.trace.transcript import read_rows
from pytest_agentbench.trial import AgentRun, RuntimeProfile

_HOST = Path(__file__).resolve().with_name("nanoclaw_host.py")
_SESSION = re.compile(rb"^\[poll-loop\] Session: ([\w-]+)$", re.MULTILINE)


class NanoClaw:
    """Drives the agent-runner of a checkout. Options: see docs/runtimes.md."""

    name = "nanoclaw"
    skills_folder = ".claude/skills"
    capabilities = ("agents", "network", "skills")

    def __init__(self, profile: RuntimeProfile) -> None:
        """Raises ``ProfileError``."""
        profile.only(("path", "env"))
        path, env = profile.options.get("path", ""), profile.options.get("env", {})
        if not isinstance(path, str):
            raise profile.refuse(f"path must be a text, the folder of a checkout, not {path!r}")
        if not isinstance(env, Mapping) or not all(isinstance(v, str) for v in env.values()):
            raise profile.refuse(f"env must be a table of texts, not {env!r}")
        self.profile = profile
        self.env: Mapping[str, str] = env

    @property
    def program(self) -> Path:
        """The file that is run. Raises ``RuntimeUnavailable``."""
        return checkout(self.profile).runner / "src" / "index.ts"

    def probe(self) -> RuntimeInfo:
        found = checkout(self.profile)
        return RuntimeInfo(
            version=found.version,
            digest=found.digest,
            capabilities=self.capabilities,
            endpoint=True,
        )

    def prepare(self, run: AgentRun) -> None:
        assert run.model is not None
        found, session = checkout(self.profile), run.state / "session"
        places = {
            "/workspace/agent/container.json": run.state / "container.json",
            "/workspace/agent": run.workspace,
            "/workspace": session,
            "/pnpm/claude": found.claude or Path("/pnpm/claude"),
        }
        for folder in (session, run.state / "runner", run.state / "claude"):
            folder.mkdir()
        found.copy(run.state / "runner", places)
        nanoclaw_session.create(session, run.prompt)
        (run.state / "claude" / "CLAUDE.md").write_text(found.instructions(places), "utf-8")
        settings = {"skipWebFetchPreflight": True}
        (run.state / "claude" / "settings.json").write_text(json.dumps(settings))
        container = {"provider": "claude", "model": run.model.name}
        (run.state / "container.json").write_text(json.dumps(container))
        host = {
            "argv": [str(found.bin / "bun"), "run", str(run.state / "runner" / "src" / "index.ts")],
            "bin": str(found.bin),
            "outbound": str(session / "outbound.db"),
            "message": nanoclaw_session.MESSAGE,
        }
        (run.state / "host.json").write_text(json.dumps(host))

    def command(self, run: AgentRun) -> Command:
        found = checkout(self.profile)
        return Command(
            argv=(sys.executable, "-I", "-S", str(_HOST), str(run.state / "host.json")),
            cwd=run.workspace,
            env={**_environment(run), **self.env},
            view=View(writable=(run.state,), readable=(_HOST, found.runner / "node_modules")),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        said = _SESSION.search(done.stderr)
        name = said[1].decode() if said else "none"
        folder = run.state / "claude" / "projects"
        main = [read_rows(path) for path in folder.glob(f"*/{name}.jsonl")][:1]
        agents = [read_rows(p) for p in sorted(folder.glob(f"*/{name}/subagents/*.jsonl"))]
        found = parse(main[0].rows if main else (), [file.rows for file in agents])
        status, message = ended(found.ending, done)
        flags = (flag for file in (*main, *agents) for flag in file.flags)
        return Execution(
            status=status,
            message=message,
            trace=prompted(run.prompt, found.events),
            usage=found.usage,
            flags=tuple(dict.fromkeys(flags)),
        )


def _environment(run: AgentRun) -> dict[str, str]:
    assert run.model is not None
    aliases = ("FABLE", "OPUS", "SONNET", "HAIKU")
    return {
        "CLAUDE_CONFIG_DIR": str(run.state / "claude"),
        "ANTHROPIC_BASE_URL": run.model.url,
        "ANTHROPIC_API_KEY": run.model.token,
        "ANTHROPIC_SMALL_FAST_MODEL": run.model.name,
        **{f"ANTHROPIC_DEFAULT_{alias}_MODEL": run.model.name for alias in aliases},
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "API_TIMEOUT_MS": str(int(run.seconds * 1000) + 60_000),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
