"""What of the disk a program needs beside itself, as far as its file tells."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

#: Of an installation at ``PREFIX/bin/NAME``.
_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")
_HEAD = 512


def needed(program: Path) -> tuple[Path, ...]:
    """Files and folders that ``program`` must be able to read: absolute, none of them twice.

    That is its file, the interpreter of its first line, and around each the installation: a
    virtual environment with the Python below it, the ``bin`` and ``lib`` of a prefix, or
    ``node_modules``. A shared prefix such as ``~/.local`` holds more than programs, so there it
    is the file alone.
    """
    return tuple(dict.fromkeys(_needed(program.absolute(), set())))


def _needed(program: Path, seen: set[Path]) -> Iterator[Path]:
    if program in seen or not program.is_file():
        return
    seen.add(program)
    real = program.resolve()
    yield program
    yield real
    for path in dict.fromkeys((program, real)):
        yield from _installation(path)
    yield from _needed_by_first_line(real, seen)


def _installation(program: Path) -> Iterator[Path]:
    if "node_modules" in program.parts:
        yield Path(*program.parts[: program.parts.index("node_modules") + 1])
    prefix = program.parent.parent
    if program.parent.name != "bin" or prefix in _shared():
        return
    yield from (path for name in _PARTS if (path := prefix / name).exists())
    for line in _lines(prefix / "pyvenv.cfg"):
        key, _, value = line.partition("=")
        if key.strip() == "home":
            base = Path(value.strip()).parent
            yield from (path for name in _PARTS if (path := base / name).exists())


def _needed_by_first_line(program: Path, seen: set[Path]) -> Iterator[Path]:
    with program.open("rb") as file:
        head = file.read(_HEAD)
    if not head.startswith(b"#!"):
        return
    try:
        words = shlex.split(head[2:].split(b"\n")[0].decode("utf-8", "replace"))
    except ValueError:
        return
    for word in words:
        if word.startswith("/"):
            yield from _needed(Path(word), seen)
        elif (
            words[0].endswith("/env") and not word.startswith("-") and (found := shutil.which(word))
        ):
            yield from _needed(Path(found).absolute(), seen)


def _shared() -> tuple[Path, ...]:
    home = Path.home()
    return Path("/"), Path("/usr"), Path("/usr/local"), home, home / ".local"


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
