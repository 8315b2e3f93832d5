"""opencode, run without a terminal: ``opencode run``."""

from __future__ import annotations

import json
import os
from typing import Any

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.runtimes.ending import concluded
from pytest_agentbench.runtimes.installed import needed
from pytest_agentbench.runtimes.locate import Package
from pytest_agentbench.runtimes.packaged import Packaged
from pytest_agentbench.trace.opencode import parse
from pytest_agentbench.trace.opencode_store import read_store
from pytest_agentbench.trial import AgentRun

_PROVIDER = "agentbench"
#: Bytes that a run may come to use.
_MEMORY = 1 << 30


class OpenCode(Packaged):
    """Drives ``opencode run`` with folders of its own. Options: see docs/runtimes.md."""

    name = "opencode"
    skills_folder = ".opencode/skills"
    package = Package(
        runtime="opencode",
        registry="npm",
        package="opencode-ai",
        program="opencode",
        tested="1.18.33",
    )
    capabilities = ("agents", "network", "skills")

    @property
    def max_concurrent(self) -> int:
        """As many runs as have room in the memory of this machine."""
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return max(1, memory // _MEMORY)

    def prepare(self, run: AgentRun) -> None:
        folder = run.state / "opencode"
        folder.mkdir()
        (folder / "opencode.json").write_text(json.dumps(_config(run)), "utf-8")

    def command(self, run: AgentRun) -> Command:
        assert run.model is not None
        program, folder = self.program, run.state / "opencode"
        return Command(
            argv=(
                # A session without a title would have the model asked for one.
                *(str(program), "run", "--format=json", "--auto", f"--title={run.id}"),
                *self.args,
            ),
            cwd=run.workspace,
            env={
                "OPENCODE_CONFIG": str(folder / "opencode.json"),
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
                **{
                    f"XDG_{name.upper()}_HOME": str(folder / name)
                    for name in ("data", "config", "cache", "state")
                },
                **self.env,
            },
            stdin=run.prompt.encode("utf-8", "replace"),
            view=View(writable=(run.state,), readable=needed(program)),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        store = read_store(run.state / "opencode" / "data" / "opencode" / "opencode.db")
        # The title is ours; those of its agents lie beside.
        main = [each for each in store.sessions if each.title == run.id and not each.parent][:1]
        found = parse(
            main[0].messages if main else (),
            [each.messages for each in store.sessions if each.parent and main],
        )
        return concluded(run, found, done, store.flags)


def _config(run: AgentRun) -> dict[str, Any]:
    """A model that hangs is ended by the harness's limit, so nothing here may be idle for less."""
    assert run.model is not None
    patience = int(run.seconds * 1000) + 60_000
    name = f"{_PROVIDER}/{run.model.name}"
    return {
        "model": name,
        "small_model": name,
        "autoupdate": False,
        "share": "disabled",
        "permission": "allow",
        "provider": {
            _PROVIDER: {
                "npm": "@ai-sdk/openai-compatible",
                "name": _PROVIDER,
                "options": {
                    "baseURL": f"{run.model.url}/v1",
                    "apiKey": run.model.token,
                    "timeout": False,
                    "headerTimeout": patience,
                    "chunkTimeout": patience,
                },
                "models": {run.model.name: {"name": run.model.name, "tool_call": True}},
            }
        },
    }
