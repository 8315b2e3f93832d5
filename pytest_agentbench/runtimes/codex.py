"""Codex, run without a terminal: ``codex exec``."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.runtimes.ending import concluded
from pytest_agentbench.runtimes.installed import needed
from pytest_agentbench.runtimes.locate import Package
from pytest_agentbench.runtimes.packaged import Packaged
from pytest_agentbench.trace.codex import parse, thread
from pytest_agentbench.trace.transcript import Rows, flags_of, read_rows
from pytest_agentbench.trial import AgentRun

_KEY = "AGENTBENCH_MODEL_KEY"
#: The harness tries again itself; and a model that hangs is ended by the harness's limit, which
#: is said to be one, so nothing here may be idle for less.
_CONFIG = """\
model = {model}
model_provider = "agentbench"
approval_policy = "never"
sandbox_mode = "danger-full-access"
web_search = {web_search}
check_for_update_on_startup = false

[model_providers.agentbench]
name = "agentbench"
base_url = {url}
env_key = "{key}"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
stream_idle_timeout_ms = {idle}

[shell_environment_policy]
exclude = ["{key}"]

[features]
plugins = false
unbounded_connection_retries = false

[analytics]
enabled = false

[feedback]
enabled = false
"""


class Codex(Packaged):
    """Drives ``codex exec`` with a home of its own. Options: see docs/runtimes.md."""

    name = "codex"
    skills_folder = ".agents/skills"
    package = Package(
        runtime="codex",
        registry="npm",
        package="@openai/codex",
        program="codex",
        tested="0.171.0",
    )
    capabilities = ("agents", "network", "skills")

    def prepare(self, run: AgentRun) -> None:
        assert run.model is not None
        # A search is the provider's to run: it would lead out of a sandbox without a network.
        searches = "network" in run.trial.scenario.requires
        config = _CONFIG.format(
            model=json.dumps(run.model.name, ensure_ascii=False),
            url=json.dumps(f"{run.model.url}/v1"),
            key=_KEY,
            idle=int(run.seconds * 1000) + 60_000,
            web_search='"live"' if searches else '"disabled"',
        )
        folder = run.state / "codex"
        folder.mkdir()
        (folder / "config.toml").write_text(config, "utf-8")

    def command(self, run: AgentRun) -> Command:
        assert run.model is not None
        program = _native(self.program)
        argv = (str(program), "exec", "--json", "--skip-git-repo-check", "-C", str(run.workspace))
        return Command(
            argv=(*argv, *self.args, "-"),
            cwd=run.workspace,
            env={"CODEX_HOME": str(run.state / "codex"), _KEY: run.model.token, **self.env},
            stdin=run.prompt.encode("utf-8", "replace"),
            view=View(writable=(run.state,), readable=needed(program)),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        folder = run.state / "codex" / "sessions"
        files = [read_rows(path) for path in sorted(folder.glob("*/*/*/rollout-*.jsonl"))]
        main = _main(files, done)
        found = parse(main.rows, [file.rows for file in files if file is not main])
        return concluded(run, found, done, flags_of(files))


def _native(launcher: Path) -> Path:
    """The program that the launcher would start, which is a script of Node's; else the launcher."""
    name = f"node_modules/@openai/codex-*/vendor/{platform.machine()}-*/bin/codex"
    for folder in launcher.parents:
        for program in sorted(folder.glob(name)):
            if os.access(program, os.X_OK):
                return program
    return launcher


def _main(files: list[Rows], done: Completed) -> Rows:
    """The rollout of the thread that the program said it started; those of its agents lie beside.

    A run that was ended before it said so has one at most.
    """
    try:
        said = json.loads(done.stdout.partition(b"\n")[0])
        wanted = said.get("thread_id") if isinstance(said, dict) else None
    except (ValueError, RecursionError):
        wanted = None
    for file in files:
        if thread(file.rows) == wanted or len(files) == 1:
            return file
    return Rows()
