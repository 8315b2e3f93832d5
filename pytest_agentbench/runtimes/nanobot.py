"""nanobot, run for one message: ``nanobot agent --message``."""

from __future__ import annotations

import base64
import dataclasses
import json
from typing import Any

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes import options
from pytest_agentbench.runtimes.ending import concluded
from pytest_agentbench.runtimes.installed import needed
from pytest_agentbench.runtimes.locate import Package
from pytest_agentbench.runtimes.packaged import Packaged, session
from pytest_agentbench.trace.nanobot import FAILED, LIMIT, parse
from pytest_agentbench.trace.transcript import read_rows
from pytest_agentbench.trial import AgentRun, RuntimeProfile


class Nanobot(Packaged):
    """Drives ``nanobot agent`` with a configuration of its own. Options: see docs/runtimes.md."""

    name = "nanobot"
    skills_folder = "skills"
    #: What it puts into every workspace that has no such file, before the model is asked.
    own_files = (
        *("AGENTS.md", "HEARTBEAT.md", "SOUL.md", "USER.md", "memory/MEMORY.md"),
        *("memory/history.jsonl", "prompts/README.md", ".gitignore", ".git/**", ".nanobot/**"),
    )
    package = Package(
        runtime="nanobot",
        registry="pip",
        package="nanobot-ai",
        program="nanobot",
        tested="0.3.5",
    )
    capabilities = ("agents", "cron", "memory", "network", "sessions", "skills")
    more = ("context_window",)

    def __init__(self, profile: RuntimeProfile) -> None:
        super().__init__(profile)
        self.window = options.context_window(profile)

    def prepare(self, run: AgentRun) -> None:
        (run.state / "config.json").write_text(json.dumps(self._config(run)), "utf-8")
        # Sessions lie in a folder for their workspace. It draws a name for it, unless there is
        # one already that says whose it is.
        folder = run.state / "sessions" / session(run).hex
        folder.mkdir(parents=True)
        (folder / ".workspace").write_text(f"{run.workspace.resolve()}\n")

    def command(self, run: AgentRun) -> Command:
        program = self.program
        # A line that begins with a slash would be a command to the program, whatever white space
        # is before it, and never reach the model.
        slash = run.prompt.lstrip().startswith("/")
        return Command(
            argv=(
                *(str(program), "agent", "--no-markdown", f"--workspace={run.workspace}"),
                *(f"--config={run.state / 'config.json'}", f"--session=cli:{session(run).hex}"),
                *self.args,
                "--message=" + "\u200b" * slash + run.prompt,
            ),
            cwd=run.workspace,
            # Its times are local ones, without a zone.
            env={"NO_COLOR": "1", "TZ": "UTC", "COLUMNS": "1000", **self.env},
            view=View(writable=(run.state,), readable=needed(program)),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        name = session(run).hex
        stem = base64.urlsafe_b64encode(f"cli:{name}".encode()).decode().rstrip("=")
        folder = run.state / "sessions" / name
        file = read_rows(folder / f"{stem}.jsonl")
        cut = read_rows(folder / f"{stem}.checkpoint.json").rows
        found = parse(file.rows, cut[0] if cut else None)
        ending = found.ending
        if ending is not None and ending.message == FAILED:
            # What failed is said on the screen alone.
            said = done.stdout.decode("utf-8", "replace").strip().splitlines()[-1:]
            ending = dataclasses.replace(ending, message="".join(said)[:2000])
            found = dataclasses.replace(found, ending=ending)
        # Of a turn that was cut short all but its last step is lost.
        flags = file.flags + (Flag.TRACE_CUT,) * bool(cut)
        if any(event.text.startswith(LIMIT) for event in found.events[-1:]):
            flags += (Flag.MAX_TURNS,)
        return concluded(run, found, done, flags)

    def _config(self, run: AgentRun) -> dict[str, Any]:
        assert run.model is not None
        defaults = {
            "workspace": str(run.workspace),
            "model": run.model.name,
            "provider": "custom",
            "contextWindowTokens": self.window,
        }
        custom = {"apiKey": run.model.token, "apiBase": f"{run.model.url}/v1"}
        return {"agents": {"defaults": defaults}, "providers": {"custom": custom}}
