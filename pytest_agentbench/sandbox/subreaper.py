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
from pytest_agentbench.sandbox.enforcement import enforcement
from pytest_agentbench.sandbox.process import program, run_process

FILE_SIZE = 1 << 30

#: Orphans come to the process, not to a thread: of two commands at once nobody could say whose.
_TURN = threading.Lock()


class Subreaper:
    """Ends what it starts, and isolates nothing else: network and files of the host are open."""

    name = "subreaper"
    forwards = False

    def __init__(self, *, hidden: tuple[Path, ...] = (), file_size: int = FILE_SIZE) -> None:
        self._file_size = file_size
        self._left: list[int] = []

    @staticmethod
    def problem() -> str:
        try:
            with tree.subreaper():
                return ""
        except OSError as error:
            return f"the kernel refuses a subreaper: {error.strerror}"

    def run(self, command: Command) -> Completed:
        prefix = _prefix(self._file_size)
        with _TURN, tree.subreaper():
            argv = (*prefix, program(command), *command.argv[1:])
            done = run_process(command, argv, _Descendants(tree.snapshot(), self._left))
        sized = any("fsize" in part for part in prefix)
        enforced = enforcement(
            self.name,
            tree_kill="subreaper",
            dies_with_worker=any("pdeathsig" in part for part in prefix),
            output_limit=command.output_limit,
            limits={"file_mb": {"limit": self._file_size >> 20, "by": "rlimit"}} if sized else {},
        )
        return replace(done, enforced=enforced)

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

    def end(self, leader: int) -> int:
        killed, left = tree.end(leader, self._before)
        self._left.extend(left)
        return killed


@functools.cache
def _prefix(file_size: int) -> tuple[str, ...]:
    """Programs of util-linux that set limits and then become the command.

    They keep us from running code between fork and exec, which is unsafe beside threads.
    """
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = file_size if hard == resource.RLIM_INFINITY else min(file_size, hard)
    wanted = (
        ("setpriv", "--pdeathsig", "KILL", "--"),
        ("prlimit", "--core=0", f"--fsize={size}", "--"),
    )
    prefix: tuple[str, ...] = ()
    for name, *options in wanted:
        path = shutil.which(name)
        if path and _works((path, *options)):
            prefix += (path, *options)
    return prefix


def _works(prefix: tuple[str, ...]) -> bool:
    try:
        done = subprocess.run((*prefix, "true"), check=False, capture_output=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
