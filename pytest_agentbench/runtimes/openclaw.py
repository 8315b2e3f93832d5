"""OpenClaw, run without its gateway: one embedded turn of one agent."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.runtimes import openclaw_forms as forms
from pytest_agentbench.runtimes import options
from pytest_agentbench.runtimes.ending import concluded
from pytest_agentbench.runtimes.installed import needed
from pytest_agentbench.runtimes.locate import Package, locate, node
from pytest_agentbench.runtimes.packaged import Packaged
from pytest_agentbench.runtimes.protocol import RuntimeInfo, RuntimeUnavailable
from pytest_agentbench.trace.openclaw import parse
from pytest_agentbench.trace.openclaw_store import decompressor
from pytest_agentbench.trial import AgentRun, RuntimeProfile

#: Bytes that one run may need.
_MEMORY = 3 << 29
#: Read by the agent's core from the folder of its state. The harness tries again itself.
_SETTINGS = {"retry": {"maxRetries": 1, "provider": {"maxRetries": 1}}}


class OpenClaw(Packaged):
    """Drives ``openclaw agent`` with a state folder of its own. Options: see docs/runtimes.md."""

    name = "openclaw"
    skills_folder = "skills"
    package = Package(
        runtime="openclaw",
        registry="npm",
        package="openclaw",
        program="openclaw",
        tested="2026.9.6",
        node=forms.Exec.node,
    )
    capabilities = ("network", "skills")
    more = ("node", "context_window")

    def __init__(self, profile: RuntimeProfile) -> None:
        super().__init__(profile)
        self.node = profile.options.get("node", "")
        if not isinstance(self.node, str):
            raise profile.refuse(f"node must be the path of a Node.js, not {self.node!r}")
        self.window = options.context_window(profile)

    @property
    def max_concurrent(self) -> int:
        """As many runs as have room in the memory of this machine."""
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return max(1, memory // _MEMORY)

    @property
    def form(self) -> forms.Form:
        """Decided by the version that is found. Raises ``RuntimeUnavailable``."""
        return forms.form(locate(self.profile, self.package).version)

    def probe(self) -> RuntimeInfo:
        info = super().probe()
        self._interpreter()
        if isinstance(self.form, forms.Exec):
            try:
                decompressor()
            except ImportError:
                raise RuntimeUnavailable(
                    f"OpenClaw {info.version} keeps its transcript compressed, which this Python "
                    "cannot read. Install what can with:\n    pip install backports.zstd"
                ) from None
        return info

    def prepare(self, run: AgentRun) -> None:
        agent = forms.state(run) / "agents" / "main" / "agent"
        agent.mkdir(parents=True)
        (agent / "settings.json").write_text(json.dumps(_SETTINGS))
        forms.config(run).write_text(json.dumps(forms.configuration(run, self.window)), "utf-8")
        forms.prompt(run).write_text(run.prompt, "utf-8", "replace")

    def command(self, run: AgentRun) -> Command:
        program, interpreter = self.program, self._interpreter()
        # Later than the harness's own limit, which is said to be one.
        more = (f"--timeout={int(run.seconds) + 60}", "--json", *self.args)
        arguments = (*self.form.arguments(run), *more)
        return Command(
            argv=(str(interpreter), str(program), "agent", *arguments),
            cwd=run.workspace,
            env={
                "OPENCLAW_STATE_DIR": str(forms.state(run)),
                "OPENCLAW_CONFIG_PATH": str(forms.config(run)),
                "OPENCLAW_OFFLINE": "1",
                # A cache below TMPDIR dies with the run; to write it takes a tenth of the time.
                "NODE_DISABLE_COMPILE_CACHE": "1",
                "NO_COLOR": "1",
                **self.env,
            },
            view=View(writable=(run.state,), readable=(*needed(program), *needed(interpreter))),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        sessions = self.form.sessions(run, done)
        found = parse(sessions.main, sessions.others)
        return concluded(run, found, done, sessions.flags)

    def _interpreter(self) -> Path:
        # Links on the way to it need not be there in a sandbox that shows the installation.
        if not self.node:
            return node(self.form.node).resolve()
        program = Path(self.node).expanduser().absolute()
        if not program.is_file() or not os.access(program, os.X_OK):
            raise RuntimeUnavailable(f"{program}, the profile's node, is no program")
        return program.resolve()
