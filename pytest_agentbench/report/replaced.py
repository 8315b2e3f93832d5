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


def line(key: str, value: Any) -> str:
    """A key of an object and its value; each item of a list stands on a line of its own."""
    # ``indent`` would take the encoder that is written in Python, and ten times as long.
    if isinstance(value, list) and value:
        return f'"{key}": [\n' + ",\n".join(map(dumps, value)) + "\n]"
    return f'"{key}": {dumps(value)}'


def dumps(value: Any) -> str:
    """One line of ASCII JSON with sorted keys; raises what ``encoding.compact`` does."""
    return compact(value).decode()
