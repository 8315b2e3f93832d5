"""Tells when a checker sets out to change files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_agentbench.grading.intrusion import STARTS

_CHANGES = {
    *("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.removexattr", "os.rename"),
    *("os.rmdir", "os.setxattr", "os.symlink", "os.truncate", "os.utime", "shutil.rmtree"),
    "sqlite3.connect",
}
#: What they start may write, and is not watched.
_STARTS = STARTS | {"os.fork", "os.forkpty"}


def forbid(own: Path, end: Callable[[], None]) -> None:
    """Call ``end`` before this process first changes a file that is not below the folder ``own``.

    Also before it starts another process. ``end`` does not return. What a library that is no Python
    does is not seen.
    """
    root = f"{own}/"

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            changes = bool(args[2] & (os.O_WRONLY | os.O_RDWR)) and _outside(args[0], root)
        elif event in _CHANGES:
            changes = any(_outside(each, root) for each in args)
        else:
            changes = event in _STARTS
        if changes:
            end()

    sys.addaudithook(hook)


def _outside(path: Any, root: str) -> bool:
    """Whether an argument is a path that is not below ``root``."""
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    place = os.path.realpath(os.fsdecode(path))
    return not f"{place}/".startswith(root) and place != os.devnull
