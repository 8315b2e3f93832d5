"""How many trials of a runtime run at once on this machine: places, each a file that is locked.

A lock is the kernel's: it goes with the process that holds it, however that ends. The places are
the user's, so that runs in several folders share them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

#: Seconds between two looks for a free place.
_LOOK = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """At most ``most`` trials at once share ``name``, a profile's or an adapter's."""

    name: str
    most: int


def folder() -> Path:
    """Where the places of this user on this machine are: a home may be that of several machines."""
    return Path.home() / ".agentbench" / "slots" / platform.node()


def prepare() -> None:
    """Make the folder. Raises ``OSError``."""
    folder().mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def place(cap: Cap) -> Iterator[float]:
    """Wait for a place and keep it; gives the seconds waited, 0 for none. Raises ``OSError``."""
    began = time.monotonic()
    waited = 0.0
    while (held := _take(cap)) is None:
        time.sleep(_LOOK)
        waited = time.monotonic() - began
    try:
        yield waited
    finally:
        os.close(held)


def _take(cap: Cap) -> int | None:
    """An open file that is locked, or None while all places are taken."""
    from urllib.parse import quote

    name = quote(cap.name, safe="@+ ")
    for number in range(cap.most):
        path = folder() / f"{name}.{number}"
        # Not inherited: a process that a trial leaves behind must not keep its place.
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
        else:
            return fd
    return None
