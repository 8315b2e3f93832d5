"""The limits of one command: who enforces which, and which were run into."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Self

from pytest_agentbench.execution import Limits, View
from pytest_agentbench.sandbox import cgroup
from pytest_agentbench.sandbox.disk import Disk
from pytest_agentbench.sandbox.tree import Process
from pytest_agentbench.status import Status, TrialFault

#: What a command may use unless its view says otherwise.
DEFAULTS = Limits(memory_mb=4096, processes=512, file_mb=1024, workspace_mb=1024)
_PAGE = os.sysconf("SC_PAGE_SIZE")
_RLIMITS = {
    "cpu_seconds": ("CPU", 1),
    "file_mb": ("FSIZE", 1 << 20),
    "open_files": ("NOFILE", 1),
    "processes": ("NPROC", 1),
}


def settled(limits: Limits) -> Limits:
    """``limits``, with the defaults for those that are not given."""
    given = {
        f.name: value for f in fields(limits) if (value := getattr(limits, f.name)) is not None
    }
    return replace(DEFAULTS, **given)


class Bounds:
    """A context manager around the run of a command with ``view``.

    By control group where this process may make one; else by resource limits, which hold for
    each process; else by looking, and ending the command. ``own_users``: the command has a user
    namespace, so that the system counts its processes apart from all others of the user.
    """

    def __init__(self, view: View, *, own_users: bool) -> None:
        self.limits = settled(view.limits)
        place = cgroup.place()
        self._group = cgroup.Cgroup(place, self.limits) if place else None
        counted = own_users and os.geteuid() != 0 and _counts_by_namespace()
        by_group = self._group.enforces if self._group else ()
        self._by: dict[str, str] = {}
        for name in (f.name for f in fields(Limits)):
            if getattr(self.limits, name) is None:
                continue
            if name in by_group:
                self._by[name] = "cgroup"
            elif name in ("file_mb", "open_files", "cpu_seconds") or (
                name == "processes" and counted
            ):
                self._by[name] = "rlimit"
            elif name != "cpus":
                self._by[name] = "watching"
        self._disk = Disk(view.writable, self.limits.workspace_mb or 0)
        self._exceeded: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        if self._group:
            try:
                self._group.__enter__()
            except OSError as error:
                raise TrialFault(
                    Status.SANDBOX_ERROR, f"cannot make a control group: {error.strerror}"
                ) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._group:
            self._group.__exit__()

    @property
    def prefix(self) -> tuple[str, ...]:
        """What stands before the command, to put it into its control group."""
        return self._group.join if self._group else ()

    @property
    def rlimits(self) -> Mapping[str, int]:
        """Resource limits by their names in ``resource``, for each process."""
        found = {"CORE": 0}
        for name, (rlimit, unit) in _RLIMITS.items():
            if self._by.get(name) == "rlimit":
                found[rlimit] = getattr(self.limits, name) * unit
        return found

    @property
    def enforced(self) -> Mapping[str, Mapping[str, Any]]:
        """Each limit that is enforced, and by what."""
        return {
            name: {"limit": getattr(self.limits, name), "by": by} for name, by in self._by.items()
        }

    def exceeded(self, exit_code: int | None) -> tuple[str, ...]:
        """The limits that the command ran into, in words."""
        found = [*self._exceeded, *(self._group.exceeded() if self._group else ())]
        if exit_code == -signal.SIGXCPU:
            found.append(f"processor time: more than {self.limits.cpu_seconds} s")
        elif exit_code == -signal.SIGXFSZ:
            found.append(f"file: larger than {self.limits.file_mb} MiB")
        return tuple(found)

    def crossed(self, members: Callable[[], list[Process]]) -> bool:
        """Whether a limit that is watched is crossed, so that the command must end.

        Raises ``TrialFault`` (``no_space``) when the disk is nearly full.
        """
        self._exceeded = tuple(
            filter(None, (self._processes(members), self._time(), self._disk.crossed()))
        )
        return bool(self._exceeded)

    def _processes(self, members: Callable[[], list[Process]]) -> str:
        watched = [n for n in ("memory_mb", "processes") if self._by.get(n) == "watching"]
        alive = members() if watched else []
        limits = self.limits
        if "processes" in watched and len(alive) > (limits.processes or 0):
            return f"processes: more than {limits.processes}"
        if "memory_mb" in watched:
            used = sum(_memory(process.pid) for process in alive)
            if used > (limits.memory_mb or 0) << 20:
                return f"memory: more than {limits.memory_mb} MiB"
        return ""

    def _time(self) -> str:
        limit = self.limits.cpu_seconds
        if limit is None or self._by["cpu_seconds"] != "cgroup" or self._group is None:
            return ""
        used = self._group.cpu_seconds()
        return f"processor time: more than {limit} s" if used > limit else ""


def _memory(pid: int) -> int:
    """Bytes that a process holds and shares with no file."""
    with contextlib.suppress(OSError, ValueError):
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text("ascii").split()
        return (int(resident) - int(shared)) * _PAGE
    return 0


def _counts_by_namespace() -> bool:
    """Whether the kernel counts processes in each user namespace apart: since 5.14."""
    major, minor, *_ = os.uname().release.split(".")
    return (int(major), int("".join(c for c in minor if c.isdecimal()) or 0)) >= (5, 14)
