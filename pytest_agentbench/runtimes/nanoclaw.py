"""NanoClaw's agent-runner, run for one message under Bun, without its host and containers."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.runtimes import claude_code, nanoclaw_session, options
from pytest_agentbench.runtimes.ending import concluded
from pytest_agentbench.runtimes.nanoclaw_checkout import checkout
from pytest_agentbench.runtimes.protocol import RuntimeInfo
from pytest_agentbench.trace.nanoclaw import parse
from pytest_agentbench.trace.transcript import flags_of
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
        path = profile.options.get("path", "")
        if not isinstance(path, str):
            raise profile.refuse(f"path must be a text, the folder of a checkout, not {path!r}")
        self.env = options.table(profile, "env")
        self.profile = profile

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
        for folder in (session, run.state / "runner"):
            folder.mkdir()
        claude_code.configure(run)
        found.copy(run.state / "runner", places)
        nanoclaw_session.create(session, run.prompt)
        (run.state / "claude" / "CLAUDE.md").write_text(found.instructions(places), "utf-8")
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
            env={**claude_code.environment(run), **self.env},
            view=View(writable=(run.state,), readable=(_HOST, found.runner / "node_modules")),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        said = _SESSION.search(done.stderr)
        main, *agents = claude_code.files(run, said[1].decode() if said else "none")
        found = parse(main.rows, [file.rows for file in agents])
        return concluded(run, found, done, flags_of((main, *agents)))
