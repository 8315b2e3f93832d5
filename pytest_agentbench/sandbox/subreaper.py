"""The sandbox that works everywhere: own session, limits on files, the whole tree killed."""

from __future__ import annotations

import functools
import shutil
import subprocess
import threading
from collections.abc import Mapping
from typing import Any

from pytest_agentbench.execution import Command, Completed
from pytest_agentbench.sandbox import tree
from pytest_agentbench.sandbox.process import run_process

OUTPUT_LIMIT = 1 << 20
FILE_SIZE = 1 << 30

#: Orphans come to the process, not to a thread: of two commands at once nobody could say whose.
_TURN = threading.Lock()


class Local:
    """Ends what it starts, and isolates nothing else: network and files of the host are open."""

    name = "local"

    def __init__(self, *, file_size: int = FILE_SIZE) -> None:
        self._file_size = file_size
        self._left: list[int] = []

    def enforced(self) -> Mapping[str, Any]:
        prefix = _prefix(self._file_size)
        return {
            "sandbox": self.name,
            "strength": "weak",
            "tree_kill": "subreaper",
            "dies_with_worker": any("pdeathsig" in part for part in prefix),
            "network": "open",
            "filesystem": "open",
            "output_limit": OUTPUT_LIMIT,
            "file_size": self._file_size if any("fsize" in part for part in prefix) else None,
        }

    def run(self, command: Command) -> Completed:
        prefix = _prefix(self._file_size)
        with _TURN, tree.subreaper():
            before = tree.snapshot()

            def end(leader: int) -> int:
                killed, left = tree.end(leader, before)
                self._left.extend(left)
                return killed

            return run_process(command, prefix=prefix, end=end)

    def close(self) -> tuple[str, ...]:
        left = [process for pid in self._left if (process := tree.look(pid))]
        return tuple(f"process {process.pid}" for process in left if not process.dead)


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
