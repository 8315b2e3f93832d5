"""What stands between the runner and an adapter: to look on, and to bring a fault about."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Command, Completed, Execution
from pytest_agentbench.runtimes.protocol import Runtime, RuntimeInfo
from pytest_agentbench.trial import AgentRun

#: Becomes the program. A child of it waits for the file ``$1`` and then sends the signal ``$2``;
#: more than once, since some programs take the first SIGSEGV for an overflow of their stack.
_STRIKE = """\
(
  while [ ! -e "$1" ]; do sleep 0.1; done
  for again in 1 2 3; do kill -s "$2" $$; sleep 0.3; done
) </dev/null >/dev/null 2>&1 &
shift 2
exec "$@"
"""


class _Beside:
    """A runtime that does as another does."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.name = runtime.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runtime, name)

    def probe(self) -> RuntimeInfo:
        return self.runtime.probe()

    def prepare(self, run: AgentRun) -> None:
        self.runtime.prepare(run)

    def command(self, run: AgentRun) -> Command | None:
        return self.runtime.command(run)

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        return self.runtime.collect(run, done)


class Watched(_Beside):
    """Remembers what passes between runner and adapter."""

    run: AgentRun | None = None
    asked: Command | None = None
    reported: Execution | None = None

    def prepare(self, run: AgentRun) -> None:
        self.run = run
        super().prepare(run)

    def command(self, run: AgentRun) -> Command | None:
        self.asked = super().command(run)
        return self.asked

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        self.reported = super().collect(run, done)
        return self.reported


class Struck(_Beside):
    """Its program gets a signal from beside it, once the file ``ready`` is in the workspace."""

    def __init__(self, runtime: Runtime, ready: str, signal: str) -> None:
        super().__init__(runtime)
        self.ready = ready
        self.signal = signal

    def command(self, run: AgentRun) -> Command | None:
        command = super().command(run)
        if command is None:
            return None
        sign = str(run.workspace / self.ready)
        argv = ("sh", "-c", _STRIKE, "sh", sign, self.signal, *command.argv)
        return dataclasses.replace(command, argv=argv)


class Misplaced(_Beside):
    """Its adapter is told a copy of the workspace in another place."""

    def prepare(self, run: AgentRun) -> None:
        shutil.copytree(run.workspace, self._elsewhere(run))
        super().prepare(self._sent(run))

    def command(self, run: AgentRun) -> Command | None:
        return super().command(self._sent(run))

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        return super().collect(self._sent(run), done)

    def _sent(self, run: AgentRun) -> AgentRun:
        return dataclasses.replace(run, workspace=self._elsewhere(run))

    @staticmethod
    def _elsewhere(run: AgentRun) -> Path:
        return run.home / "elsewhere"
