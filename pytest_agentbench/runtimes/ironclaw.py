"""IronClaw, run for one message: ``ironclaw run``. Untested: it follows what is documented."""

from __future__ import annotations

import secrets
import shlex
from dataclasses import dataclass

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.ending import concluded
from pytest_agentbench.runtimes.installed import needed
from pytest_agentbench.runtimes.locate import Package, runtimes_folder
from pytest_agentbench.runtimes.packaged import Packaged
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Event, EventKind
from pytest_agentbench.trace.transcript import Ending, Transcript
from pytest_agentbench.trial import AgentRun

UNTESTED = "no version at all: it follows the documentation, and never met the program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Package):
    """A runtime that has no package, only its sources."""

    def install(self, version: str = "") -> str:
        folder = shlex.quote(str(runtimes_folder() / f"{self.runtime}@{version or 'VERSION'}"))
        return (
            f"cargo install --locked --root {folder} --path crates/app/ironclaw_cli    "
            "# in a checkout of nearai/ironclaw; the adapter is untested"
        )


class IronClaw(Packaged):
    """Drives ``ironclaw run`` with a home of its own. Options: see docs/runtimes.md."""

    name = "ironclaw"
    skills_folder = "skills"
    package = Source(
        runtime="ironclaw",
        registry="npm",
        package="ironclaw",
        program="ironclaw",
        tested=UNTESTED,
    )
    capabilities = ("network", "skills")

    def prepare(self, run: AgentRun) -> None:
        # It must not lie in the folder that it works in.
        (run.state / "ironclaw").mkdir()

    def command(self, run: AgentRun) -> Command:
        program = self.program
        task = run.prompt.encode("utf-8", "replace").decode()
        return Command(
            argv=(str(program), "run", "--confirm-host-access", *self.args, f"--message={task}"),
            cwd=run.workspace,
            env={**_environment(run), **self.env},
            view=View(writable=(run.state,), readable=needed(program)),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        said = done.stdout.decode("utf-8", "replace").strip()
        # It prints its answer and nothing else, and fails if there is none.
        ending = Ending(status=Status.COMPLETED) if said else None
        answer = Event(kind=EventKind.ASSISTANT, text=said, time=done.seconds)
        found = Transcript(events=(answer,) if said else (), ending=ending)
        return concluded(run, found, done, (Flag.ADAPTER_UNTESTED,))


def _environment(run: AgentRun) -> dict[str, str]:
    assert run.model is not None
    return {
        "IRONCLAW_REBORN_HOME": str(run.state / "ironclaw"),
        # That of a user's own machine, without approvals: the sandbox is what confines it.
        "IRONCLAW_REBORN_PROFILE": "local-dev-yolo",
        # There is no keychain. What it encrypts dies with the run.
        "IRONCLAW_REBORN_SECRET_MASTER_KEY": secrets.token_hex(32),
        "LLM_BACKEND": "openai_compatible",
        "LLM_BASE_URL": f"{run.model.url}/v1",
        "LLM_API_KEY": run.model.token,
        "LLM_MODEL": run.model.name,
        "LLM_REQUEST_TIMEOUT_SECS": str(int(run.seconds) + 60),
    }
