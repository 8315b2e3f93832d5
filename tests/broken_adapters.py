"""A ``conftest.py`` of adapters that break the contract, each in its own way, and only there."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from pytest_agentbench.execution import Command, Completed, Execution
from pytest_agentbench.runtimes.minimal import Minimal
from pytest_agentbench.runtimes.protocol import RuntimeInfo
from pytest_agentbench.status import Status
from pytest_agentbench.trial import AgentRun


class Sharing(Minimal):
    """One HOME for all runs."""

    def command(self, run: AgentRun) -> Command:
        command = super().command(run)
        home = Path(__file__).with_name("shared-home")
        home.mkdir(exist_ok=True)
        view = dataclasses.replace(command.view, writable=(*command.view.writable, home))
        return dataclasses.replace(command, env={**command.env, "HOME": str(home)}, view=view)


class Unquoting(Minimal):
    """Loses the prompt's quotes."""

    def prepare(self, run: AgentRun) -> None:
        prompt = run.prompt.replace('"', "").replace("'", "")
        super().prepare(dataclasses.replace(run, prompt=prompt))


class Nameless(Minimal):
    """Drops the ids of calls."""

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        execution = super().collect(run, done)
        events = (dataclasses.replace(event, call_id="") for event in execution.trace.events)
        trace = dataclasses.replace(execution.trace, events=tuple(events))
        return dataclasses.replace(execution, trace=trace)


class Boasting(Minimal):
    """Claims success whatever happened."""

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        return dataclasses.replace(super().collect(run, done), status=Status.COMPLETED)


class Straying(Minimal):
    """Works on a copy of the workspace."""

    def command(self, run: AgentRun) -> Command:
        command = super().command(run)
        line = 'cp -a . "$HOME/copy" && cd "$HOME/copy" && exec "$@"'
        return dataclasses.replace(command, argv=("sh", "-c", line, "sh", *command.argv))


class Careless(Minimal):
    """Hands on the caller's environment, says nothing of itself, and promises what nobody knows."""

    def probe(self) -> RuntimeInfo:
        return dataclasses.replace(super().probe(), version="", capabilities=("telepathy",))

    def command(self, run: AgentRun) -> Command:
        command = super().command(run)
        own = ("PATH", "HOME", "TMPDIR")
        env = {name: value for name, value in os.environ.items() if name not in own}
        return dataclasses.replace(command, env={**env, **command.env})


def pytest_agentbench_runtimes():
    return {
        "sharing": Sharing,
        "unquoting": Unquoting,
        "nameless": Nameless,
        "boasting": Boasting,
        "straying": Straying,
        "careless": Careless,
    }
