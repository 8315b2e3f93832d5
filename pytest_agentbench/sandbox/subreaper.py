"""The sandbox that works everywhere: own session, limits on files, the whole tree killed."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_agentbench.execution import Command, Completed
from pytest_agentbench.sandbox import tree
from pytest_agentbench.sandbox.bounds import Bounds
from pytest_agentbench.sandbox.enforcement import enforcement
from pytest_agentbench.sandbox.process import program, run_process

#: Orphans come to the process, not to a thread: of two commands at once nobody could say whose.
_TURN = threading.Lock()


class Subreaper:
    """Ends what it starts, and isolates nothing else: network and files of the host are open."""

    name = "subreaper"
    forwards = False

    def __init__(self, *, hidden: tuple[Path, ...] = ()) -> None:
        self._left: list[int] = []

    @staticmethod
    def problem() -> str:
        try:
            with tree.subreaper():
                return ""
        except OSError as error:
            return f"the kernel refuses a subreaper: {error.strerror}"

    def run(self, command: Command) -> Completed:
        deadly, limiting = _helpers()
        with _TURN, tree.subreaper(), Bounds(command.view, own_users=False) as bounds:
            limits = (_option(name, value) for name, value in bounds.rlimits.items())
            prefix = (*bounds.prefix, *deadly, *(limiting and (*limiting, *limits)))
            argv = (*prefix, program(command), *command.argv[1:])
            descendants = _Descendants(tree.snapshot(), self._left)
            done = run_process(command, argv, descendants, bounds)
            exceeded = bounds.exceeded(done.exit_code)
        enforced = enforcement(
            self.name,
            tree_kill="subreaper",
            dies_with_worker=bool(deadly),
            output_limit=command.output_limit,
            limits={
                name: limit
                for name, limit in bounds.enforced.items()
                if limiting or limit["by"] != "rlimit"
            },
        )
        return replace(done, enforced=enforced, exceeded=exceeded)

    def close(self) -> tuple[str, ...]:
        left = [process for pid in self._left if (process := tree.look(pid))]
        return tuple(f"process {process.pid}" for process in left if not process.dead)


class _Descendants:
    """What descends from the leader; ``left`` gets those that cannot be killed."""

    fds: Sequence[int] = ()

    def __init__(self, before: frozenset[tuple[int, int]], left: list[int]) -> None:
        self._before = before
        self._left = left

    def stop(self, leader: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(leader, signal.SIGTERM)

    def members(self, leader: int) -> list[tree.Process]:
        return tree.members(leader, self._before)

    def end(self, leader: int) -> int:
        killed, left = tree.end(leader, self._before)
        self._left.extend(left)
        return killed


def _option(name: str, value: int) -> str:
    # SIGXCPU tells what happened; SIGKILL comes at the hard limit.
    return f"--{name.lower()}={value}" + (f":{value + 1}" if name == "CPU" else "")


@functools.cache
def _helpers() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Programs of util-linux that become the command: it dies with us, and has limits.

    They keep us from running code between fork and exec, which is unsafe beside threads.
    """
    found: list[tuple[str, ...]] = []
    for name, *options in (("setpriv", "--pdeathsig", "KILL"), ("prlimit",)):
        path = shutil.which(name)
        found.append((path, *options) if path and _works((path, *options)) else ())
    return found[0], found[1]


def _works(prefix: tuple[str, ...]) -> bool:
    try:
        done = subprocess.run((*prefix, "true"), check=False, capture_output=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
