"""Whose a container is, in its labels: a process told by number, start and machine."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path

from pytest_agentbench.sandbox import tree

#: The owner's number. A process of the same number and another start is another process.
LABEL = "agentbench.pid"
START = "agentbench.start"
#: The boot of the machine and the process namespace, outside of which a number means nothing.
HOST = "agentbench.host"


def labels() -> dict[str, str]:
    """The labels of what this process owns."""
    found = tree.look(os.getpid())
    start = found.start if found else 0
    return {LABEL: str(os.getpid()), START: str(start), HOST: _host()}


def gone(labels: Mapping[str, str]) -> bool:
    """Whether the owner is known to be dead. Of owners elsewhere nothing is known."""
    pid = labels.get(LABEL, "")
    if labels.get(HOST) != _host() or not pid.isdecimal():
        return False
    found = tree.look(int(pid))
    return found is None or found.dead or str(found.start) != labels.get(START)


@functools.cache
def _host() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
