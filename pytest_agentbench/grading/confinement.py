"""The ways to start the checker server apart from the rest of the machine, strongest first."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from pytest_agentbench.sandbox.bwrap import ISOLATED


def _bwrap(scratch: Path) -> list[str] | None:
    if (bwrap := shutil.which("bwrap")) is None:
        return None
    return [
        bwrap, *ISOLATED, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
        "--bind", str(scratch), str(scratch), "--chdir", str(scratch), "--",
    ]  # fmt: skip


def _unshare(scratch: Path) -> list[str] | None:
    if (unshare := shutil.which("unshare")) is None:
        return None
    return [unshare, "-r", "-pfn", "--mount-proc", "--kill-child", "--"]


def _weak(scratch: Path) -> list[str] | None:
    return []


#: What stands before the server's command, or None where the program for it is missing.
LAUNCHERS: dict[str, Callable[[Path], list[str] | None]] = {
    "bwrap": _bwrap,
    "unshare": _unshare,
    "weak": _weak,
}
