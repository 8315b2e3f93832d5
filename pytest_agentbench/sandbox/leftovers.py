"""What a run that was killed left on the machine: its workers, its commands, its folders.

Each is known by the owner that it names, a process told by number and start, never by what it is
called. Only those of the user are looked at.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench import files
from pytest_agentbench.sandbox import cgroup, owner, tree

_PREFIX = "agentbench-"
#: In a folder: whose it is.
_OWNER = "owner"
_STAMP_LIMIT = 4096
#: Seconds for killing what goes on forking.
_KILLING = 5.0
#: Seconds for seeing whether something does.
_MOMENT = 0.03


@dataclass(frozen=True, slots=True)
class Reaped:
    """How many processes were killed and folders removed."""

    processes: int = 0
    folders: int = 0

    def __str__(self) -> str:
        parts = ((self.processes, "process", "es"), (self.folders, "folder", "s"))
        named = (
            f"{count} {name}{more if count != 1 else ''}" for count, name, more in parts if count
        )
        return " and ".join(named)


def folder(purpose: str = "") -> Path:
    """A fresh folder in that for temporary files, for the caller alone; it says whose it is."""
    made = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{purpose}"))
    (made / _OWNER).write_text(owner.stamp(), "ascii")
    return made


@contextlib.contextmanager
def temporary(purpose: str = "") -> Iterator[Path]:
    """Such a folder, removed at the end as far as that is possible."""
    made = folder(purpose)
    try:
        yield made
    finally:
        with contextlib.suppress(OSError):
            remove(made)


def remove(folder: Path) -> None:
    """Remove a folder that ``folder`` made; whose it was last of all. Raises ``OSError``."""
    if folder.is_dir() and not folder.is_symlink():
        for path in sorted(folder.iterdir()):
            if path.name != _OWNER:
                files.remove(path)
    files.remove(folder)


def reap() -> Reaped:
    """End and remove what dead runs of this user left, on this machine. Never raises ``OSError``.

    A worker that outlives the controller of its run goes first: it would take the end of its
    agent for the agent's own doing, and write that down.
    """
    found = dict(_folders())
    alive = (owner.owning(labels) for labels in found.values())
    workers = {worker.pid: worker for worker in alive if worker and worker.pid != os.getpid()}
    for worker in workers.values():
        _kill(worker)
    processes = len(workers) + _end_commands()
    # Finds in control groups what has thrown its environment away.
    cgroup.place()
    removed = 0
    for path in found:
        with contextlib.suppress(OSError):
            remove(path)
            removed += 1
    return Reaped(processes, removed)


def _folders() -> Iterator[tuple[Path, Mapping[str, str]]]:
    """Folders whose owners are gone, and what they say of those."""
    for path in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")):
        with contextlib.suppress(OSError):
            found = path.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
                text = files.read_regular(path / _OWNER, _STAMP_LIMIT)
                if owner.gone(labels := owner.read(text)):
                    yield path, labels


def _end_commands() -> int:
    """Kill the commands of owners that are gone, with all that descends from them."""
    killed: set[tuple[int, int]] = set()
    deadline = time.monotonic() + _KILLING
    ours = frozenset(_ancestry())
    while time.monotonic() < deadline:
        roots = []
        for process in _commands():
            if process.pid not in ours:
                # Frozen at once: what cannot run cannot fork before the others are found.
                _send(process, signal.SIGSTOP)
                roots.append(process)
        alive = [process for process in tree.below(roots) if process.pid not in ours]
        if not alive:
            break
        killed |= {(process.pid, process.start) for process in alive}
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in alive:
                _send(process, number)
        time.sleep(0.005)
    return len(killed)


def _commands() -> Iterator[tree.Process]:
    """Living processes of this user that say that their owner is gone.

    Those of runs with another folder for temporary files are left to a run with that one.
    """
    name = f"{owner.VARIABLE}=".encode()
    gone: dict[bytes, bool] = {}
    for pid in _pids():
        try:
            if os.stat(f"/proc/{pid}").st_uid != os.geteuid():  # noqa: PTH116 - what forks is quick
                continue
            with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123
                variables = file.read().split(b"\0")
        except OSError:
            continue
        for variable in variables:
            if variable.startswith(name):
                stamp = variable.removeprefix(name)
                if stamp not in gone:
                    labels = owner.read(stamp)
                    ours = labels.get(owner.TEMPORARY) == tempfile.gettempdir()
                    gone[stamp] = ours and owner.gone(labels)
                process = tree.look(pid) if gone[stamp] else None
                if process and not process.dead:
                    yield process


def _pids() -> Iterator[int]:
    """All processes, then for a moment those that are new: one that forks and ends over and over
    is never in a list for long enough to be looked at."""
    newest = _newest()
    yield from (int(name) for name in os.listdir("/proc") if name.isdecimal())  # noqa: PTH208
    deadline = time.monotonic() + _MOMENT
    while time.monotonic() < deadline:
        earlier, newest = newest, _newest()
        yield from range(earlier + 1, newest + 1)
        time.sleep(0.0005)


def _newest() -> int:
    """The number that was last given to a process."""
    return int(Path("/proc/loadavg").read_text("ascii").split()[-1])


def _ancestry() -> Iterator[int]:
    """This process and those that it descends from: a run may be started by another's agent."""
    pid = os.getpid()
    while pid:
        yield pid
        pid = tree.parent(pid)


def _kill(process: tree.Process) -> None:
    """Kill, and wait a moment for the end."""
    try:
        fd = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        if _same(process):
            signal.pidfd_send_signal(fd, signal.SIGKILL)
            select.select([fd], [], [], _KILLING)
    except OSError:
        return
    finally:
        os.close(fd)


def _send(process: tree.Process, number: signal.Signals) -> None:
    if _same(process):
        with contextlib.suppress(OSError):
            os.kill(process.pid, number)


def _same(process: tree.Process) -> bool:
    """Whether its number is still its own."""
    found = tree.look(process.pid)
    return found is not None and found.start == process.start
