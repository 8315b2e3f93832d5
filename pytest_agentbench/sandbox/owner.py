"""Whose a container, a command or a folder is: processes told by number, start and machine."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pytest_agentbench.sandbox import tree

#: The process that waits for it, and the one that controls the run: ``PID:START``. A process of
#: the same number that started at another time is another process.
OWNER = "agentbench.owner"
RUN = "agentbench.run"
#: The boot of the machine and the process namespace, outside of which a number means nothing.
HOST = "agentbench.host"
#: The folder for temporary files: runs with different ones leave each other alone.
TEMPORARY = "agentbench.temporary"
#: In the environment of commands: the same as JSON.
VARIABLE = "AGENTBENCH_OWNER"


def labels() -> dict[str, str]:
    """The labels of what this process owns."""
    return {**_labels(os.getpid()), TEMPORARY: tempfile.gettempdir()}


def stamp() -> str:
    """The labels of what this process owns, as JSON."""
    return json.dumps(labels())


def read(stamp: bytes) -> Mapping[str, str]:
    """The labels of a stamp; none if it is no stamp."""
    try:
        found = json.loads(stamp)
    except (ValueError, RecursionError):
        return {}
    good = isinstance(found, dict) and all(isinstance(text, str) for text in found.values())
    return found if good else {}


def owning(labels: Mapping[str, str]) -> tree.Process | None:
    """The owner if it is alive."""
    pid, _, _ = labels.get(OWNER, "").partition(":")
    alive = labels.get(HOST) == _host() and pid.isdecimal() and _told(int(pid)) == labels[OWNER]
    return tree.look(int(pid)) if alive else None


def gone(labels: Mapping[str, str]) -> bool:
    """Whether the owner, or the controller of its run, is known to be dead.

    Of those elsewhere nothing is known.
    """
    if labels.get(HOST) != _host():
        return False
    told = (labels.get(name, "") for name in (OWNER, RUN))
    return any(
        pid.isdecimal() and _told(int(pid)) != f"{pid}:{start}"
        for pid, _, start in (each.partition(":") for each in told)
    )


def _told(pid: int) -> str:
    found = tree.look(pid)
    return f"{pid}:{found.start}" if found and not found.dead else f"{pid}:dead"


@functools.cache
def _labels(pid: int) -> Mapping[str, str]:
    # Read from /proc once, not for each folder of each trial; a fork has a number of its own.
    return {OWNER: _told(pid), RUN: _told(_controller()), HOST: _host()}


@functools.cache
def _controller() -> int:
    """The parent of an xdist worker, asked for once: an orphan has another; else this process."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()


@functools.cache
def _host() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
