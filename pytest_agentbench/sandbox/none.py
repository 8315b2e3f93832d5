"""No sandbox: for machines and moments where even ``subreaper`` is in the way."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_agentbench.execution import Command, Completed
from pytest_agentbench.sandbox.enforcement import enforcement
from pytest_agentbench.sandbox.process import program, run_process
from pytest_agentbench.sandbox.tree import Process


class Plain:
    """Kills the process group alone: what calls setsid gets away."""

    name = "none"
    forwards = False

    def __init__(self, *, hidden: tuple[Path, ...] = ()) -> None:
        pass

    @staticmethod
    def problem() -> str:
        return ""

    def run(self, command: Command) -> Completed:
        done = run_process(command, (program(command), *command.argv[1:]), _Group())
        enforced = enforcement(
            self.name, tree_kill="process group", output_limit=command.output_limit
        )
        return replace(done, enforced=enforced)

    def close(self) -> tuple[str, ...]:
        return ()


class _Group:
    fds: Sequence[int] = ()

    def stop(self, leader: int) -> None:
        _kill_group(leader, signal.SIGTERM)

    def members(self, leader: int) -> list[Process]:
        return []

    def end(self, leader: int) -> int:
        _kill_group(leader, signal.SIGKILL)
        return 0


def _kill_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, number)
