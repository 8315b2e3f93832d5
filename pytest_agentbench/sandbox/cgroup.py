"""Control groups, where this process may make them: limits on a whole tree of processes.

Version 1 has a hierarchy for each controller, version 2 one for all of them.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pytest_agentbench.execution import Limits
from pytest_agentbench.sandbox import tree

_NAME = "agentbench"
_COUNT = itertools.count(1)
#: Of the CPU bandwidth, in microseconds.
_PERIOD = 100_000
#: Seconds in which the kernel lets go of a group whose processes are dead.
_GONE = 0.5
#: The controllers that each limit needs; the rest is not worth a group.
_CONTROLLERS = {
    "memory_mb": "memory",
    "processes": "pids",
    "cpus": "cpu",
    "cpu_seconds": "cpuacct",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where groups can be made: the parent folder of each controller, and the version."""

    folders: Mapping[str, Path]
    version: int


class Cgroup:
    """The groups of one command. A context manager: they are removed at its end."""

    def __init__(self, place: Place, limits: Limits) -> None:
        self._version = place.version
        self._limits = limits
        name = f"{_prefix()}{_identity(os.getpid())}.{next(_COUNT)}"
        wanted = {
            controller: place.folders[controller] / name
            for limit, controller in _CONTROLLERS.items()
            if getattr(limits, limit) is not None and controller in place.folders
        }
        self._folders: Mapping[str, Path] = wanted

    @property
    def enforces(self) -> tuple[str, ...]:
        """Names of the limits that hold for the whole tree."""
        return tuple(name for name, control in _CONTROLLERS.items() if control in self._folders)

    @property
    def join(self) -> tuple[str, ...]:
        """What stands before a command to make it a member, with all that it starts."""
        entries = [str(folder / "cgroup.procs") for folder in self._unique()]
        if not entries:
            return ()
        script = " && ".join(f"echo 0 > {shlex.quote(entry)}" for entry in entries)
        # The shell's own variables are not the command's.
        return ("/bin/sh", "-c", f'{script} && unset PWD OLDPWD SHLVL && exec "$@"', "sh")

    def __enter__(self) -> Self:
        for folder in self._unique():
            folder.mkdir()
        try:
            self._limit()
        except OSError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for folder in self._unique():
            _remove(folder)

    def exceeded(self) -> tuple[str, ...]:
        """The limits that the command ran into, in words."""
        found = []
        kills = ("memory.oom_control", "memory.events")[self._version - 1]
        if self._read("memory", kills, "oom_kill"):
            found.append(f"memory: a process was killed at {self._limits.memory_mb} MiB")
        if self._read("pids", "pids.events", "max"):
            found.append(f"processes: no more than {self._limits.processes} could be started")
        return tuple(found)

    def cpu_seconds(self) -> float:
        """Processor time that the command has used."""
        if self._version == 1:
            return self._read("cpuacct", "cpuacct.usage", "") / 1e9
        return self._read("cpuacct", "cpu.stat", "usage_usec") / 1e6

    def _limit(self) -> None:
        limits = self._limits
        memory, pids, cpu = map(self._folders.get, ("memory", "pids", "cpu"))
        if memory is not None:
            size = str((limits.memory_mb or 0) << 20)
            names = (
                ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
                ("memory.max", "memory.swap.max"),
            )[self._version - 1]
            (memory / names[0]).write_text(size)
            # Absent where swap is not counted.
            with contextlib.suppress(FileNotFoundError):
                (memory / names[1]).write_text(size if self._version == 1 else "0")
        if pids is not None:
            (pids / "pids.max").write_text(str(limits.processes))
        if cpu is not None:
            quota = int((limits.cpus or 0) * _PERIOD)
            if self._version == 1:
                (cpu / "cpu.cfs_period_us").write_text(str(_PERIOD))
                (cpu / "cpu.cfs_quota_us").write_text(str(quota))
            else:
                (cpu / "cpu.max").write_text(f"{quota} {_PERIOD}")

    def _unique(self) -> list[Path]:
        return list(dict.fromkeys(self._folders.values()))

    def _read(self, controller: str, file: str, key: str) -> int:
        """The number of ``key`` in a file of the group, or the only one there."""
        folder = self._folders.get(controller)
        try:
            lines = (folder / file).read_text("ascii").splitlines() if folder else []
        except OSError:
            return 0
        values = {name: value for name, _, value in (line.rpartition(" ") for line in lines)}
        return int(values.get(key, "0"))


@functools.cache
def place() -> Place | None:
    """Where groups can be made by this process, tried once; None where that is not permitted."""
    for found in (_version_1(), _version_2()):
        if found is not None and _works(found):
            _sweep(found)
            return found
    return None


def _version_1() -> Place | None:
    own: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        own |= dict.fromkeys(filter(None, names.split(",")), path.lstrip("/"))
    folders = {}
    for mount, kind, options in _mounts():
        if kind == "cgroup":
            for name in sorted(set(_CONTROLLERS.values()) & set(options)):
                inner = mount / own.get(name, "")
                folders[name] = inner if inner.is_dir() else mount
    return Place(folders, 1) if {"memory", "pids"} <= folders.keys() else None


def _version_2() -> Place | None:
    """The innermost group around ours that hands its controllers on: ours holds processes."""
    own = [line for line in Path("/proc/self/cgroup").read_text().splitlines() if line[:3] == "0::"]
    for mount, kind, _ in _mounts():
        if kind == "cgroup2" and own:
            inner = mount / own[0][3:].lstrip("/")
            for folder in (inner, *inner.parents):
                if not folder.is_relative_to(mount):
                    break
                with contextlib.suppress(OSError):
                    handed = (folder / "cgroup.subtree_control").read_text().split()
                    if {"memory", "pids"} <= set(handed):
                        names = {*handed, "cpuacct"} & set(_CONTROLLERS.values())
                        return Place(dict.fromkeys(sorted(names), folder), 2)
    return None


def _mounts() -> Iterator[tuple[Path, str, list[str]]]:
    """Folder, kind and options of each file system that is mounted."""
    for line in Path("/proc/self/mounts").read_text(errors="surrogateescape").splitlines():
        _, folder, kind, options, *_ = line.split()
        yield Path(folder), kind, options.split(",")


def _works(found: Place) -> bool:
    limits = Limits(memory_mb=256, processes=16, cpus=1.0, cpu_seconds=1)
    try:
        with Cgroup(found, limits) as group:
            argv = (*group.join, "true")
            return subprocess.run(argv, check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def _sweep(found: Place) -> None:
    """End what a dead process of ours left in its groups, and remove them."""
    for parent in dict.fromkeys(found.folders.values()):
        for folder in sorted(parent.glob(f"{_prefix()}*.*.*")):
            pid, start, _ = folder.name.removeprefix(_prefix()).split(".")
            if pid.isdecimal() and f"{pid}.{start}" != _identity(int(pid)):
                _remove(folder)


def _prefix() -> str:
    """The start of the names of our groups. In another PID namespace our numbers mean nothing."""
    return f"{_NAME}.{os.stat('/proc/self/ns/pid').st_ino}."  # noqa: PTH116


def _identity(pid: int) -> str:
    """A process by number and start: the number alone is used again."""
    found = tree.look(pid)
    return f"{pid}.{found.start if found else 0}"


def _remove(folder: Path) -> None:
    """Kill what is left in a group and remove it, unless that takes too long."""
    deadline = time.monotonic() + _GONE
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                return
        else:
            return
        with contextlib.suppress(OSError):
            for pid in map(int, (folder / "cgroup.procs").read_text().split()):
                with contextlib.suppress(ProcessLookupError):
                    if pid > 0:  # 0 is one that we cannot see, and to kill it would be our own end
                        os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
