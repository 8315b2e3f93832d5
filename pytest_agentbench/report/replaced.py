"""Files of JSON that are always whole: written beside their place, then put there in one step."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from pytest_agentbench.report.encoding import compact


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` once it is written to the end and on the disk.

    Raises ``OSError``; then ``path`` is what it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def pieces(key: str, value: Any) -> Iterator[bytes]:
    """A key of an object and its value; each item of a list, or of an iterator, on a line of its own."""
    # ``indent`` would take the encoder that is written in Python, and ten times as long.
    yield f'"{key}": '.encode()
    if not isinstance(value, list | Iterator):
        yield compact(value)
        return
    before = b"[\n"
    for item in value:
        yield before + compact(item)
        before = b",\n"
    yield b"\n]" if before == b",\n" else b"[]"


def dumps(value: Any) -> str:
    """One line of ASCII JSON with sorted keys; raises what ``encoding.compact`` does."""
    return compact(value).decode()
