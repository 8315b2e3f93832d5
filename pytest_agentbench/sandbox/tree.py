"""The tree of processes that one command starts, and its end.

While a command runs, this process is a *subreaper*: whatever of the tree loses its parent becomes
a child of ours instead of init's, however often it forked and called setsid, and can be found.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
#: Looks without a trace of life, after which a tree that left orphans is at its end.
_LOOKS = 5
#: Seconds between two looks: short, since what forks itself for ever is caught between two forks.
_PAUSE = 0.001


@dataclass(frozen=True, slots=True)
class Process:
    """What /proc says of a process. ``start`` tells two owners of one number apart."""

    pid: int
    state: str
    session: int
    start: int

    @property
    def dead(self) -> bool:
        return self.state in "ZXx"


@contextlib.contextmanager
def subreaper() -> Iterator[None]:
    """Take over the orphans of our descendants. Raises ``OSError`` where that is refused."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    try:
        yield
    finally:
        # A daemon that a test or fixture starts between two commands is init's, as ever.
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def look(pid: int) -> Process | None:
    """The process ``pid``, or None when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return Process(pid, state=fields[0], session=int(fields[3]), start=int(fields[19]))


def children(pid: int) -> list[Process]:
    """The children of all threads of ``pid``, dead ones that nobody reaped included."""
    found = []
    try:
        threads = sorted(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []
    for thread in threads:
        with contextlib.suppress(OSError):
            listed = (thread / "children").read_text()
            found += [child for number in listed.split() if (child := look(int(number)))]
    return found


def parent(pid: int) -> int:
    """The parent of a process; 0 when it has none, or is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1])


def snapshot() -> frozenset[tuple[int, int]]:
    """Our children before a command starts: none of them is the command's."""
    return frozenset((child.pid, child.start) for child in children(os.getpid()))


def end(
    leader: int, before: frozenset[tuple[int, int]], *, seconds: float = 1.5
) -> tuple[int, tuple[int, ...]]:
    """Kill the tree of ``leader``: its descendants and what it orphaned to us.

    Returns how many processes beside the leader had to be killed, and those that still live
    after ``seconds``. Dead orphans are reaped; the leader is left for its owner to reap.
    """
    deadline = time.monotonic() + seconds
    killed: set[tuple[int, int]] = set()
    calm, enough = 0, 1
    while True:
        alive, orphaned = _look(leader, before)
        killed |= {(process.pid, process.start) for process in alive if process.pid != leader}
        # Frozen first: what cannot run cannot fork while the others are being killed.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in alive:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process.pid, number)
        if orphaned:
            # What forks itself for ever may have been between two lives when we looked.
            enough = _LOOKS
        calm = 0 if alive or orphaned else calm + 1
        if calm == enough:
            return len(killed), ()
        if time.monotonic() > deadline:
            return len(killed), tuple(sorted(process.pid for process in alive))
        time.sleep(_PAUSE)


def members(leader: int, before: frozenset[tuple[int, int]]) -> list[Process]:
    """The living processes of the tree; dead orphans among our children are reaped."""
    return _look(leader, before)[0]


def _look(leader: int, before: frozenset[tuple[int, int]]) -> tuple[list[Process], bool]:
    """The living processes of the tree, and whether it has orphaned any to us, dead or alive."""
    session = os.getsid(0)
    orphaned = False
    frontier = []
    for child in children(os.getpid()):
        # The leader made a session of its own, and nobody can join ours from there: a child in
        # our session is the harness's or a fixture's, started meanwhile.
        foreign = (child.pid, child.start) in before or child.session == session
        if child.pid != leader:
            if foreign:
                continue
            if child.dead:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child.pid, os.WNOHANG)
            orphaned = True
        frontier.append(child)
    return below(frontier), orphaned


def below(roots: list[Process]) -> list[Process]:
    """The living processes among ``roots`` and their descendants."""
    found: list[Process] = []
    frontier = [*roots]
    while frontier:
        process = frontier.pop()
        if not process.dead:
            found.append(process)
        frontier += children(process.pid)
    return found
