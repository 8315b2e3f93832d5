"""Tells when what an agent left runs within a checker."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

#: Events that tell of a process that is started.
STARTS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn"}


def watch(workspace: Path, tell: Callable[[], None]) -> None:
    """Call ``tell`` once, before code of a file in ``workspace`` first runs in this process.

    That is a file which is imported or executed by its name, a library that is loaded, and a process
    that is started there or given a path there. Text that a checker reads and executes is not seen.
    It lasts as long as the process: audit hooks cannot be taken away, by an agent's code neither.
    """
    roots = tuple({f"{path}/" for path in (workspace, workspace.resolve())})
    told = False

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal told
        if not told and any(root in name for name in _names(event, args) for root in roots):
            told = True
            tell()

    sys.addaudithook(hook)


def _names(event: str, args: tuple[Any, ...]) -> Iterator[str]:
    """What the event is about to run, as absolute paths or as the words of a command."""
    if event == "exec":
        yield _path(args[0].co_filename)
    elif event in ("import", "ctypes.dlopen"):
        yield _path(args[event == "import"])
    elif event == "open" and str(args[0]).endswith(".pyc"):
        yield _path(args[0])  # compiled code has the name that who compiled it gave it
    elif event in STARTS:
        yield f"{Path.cwd()}/"
        yield from _words(args)


def _path(name: Any) -> str:
    if not isinstance(name, str | bytes | Path):
        return ""
    return os.path.normpath(Path(os.fsdecode(name)).absolute())


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str | bytes | Path):
        yield f"{os.fsdecode(value)}/"
    elif isinstance(value, dict):
        yield from _words(tuple(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _words(each)
