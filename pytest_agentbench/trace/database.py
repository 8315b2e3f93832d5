"""Reads a runtime's SQLite database once an agent had its hands on it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

from pytest_agentbench.files import read_regular, temporary
from pytest_agentbench.flag import Flag

_FILE_LIMIT = 256 << 20
_TEXT_LIMIT = 64 << 20
#: Seconds for all queries: a view in place of a table may never end.
_PATIENCE = 20.0


class Reader(Protocol):
    """Keeps what it reads; ``bad`` and ``cut`` say that some of it was of no use, or too much."""

    bad: bool
    cut: bool

    def read(self, base: sqlite3.Connection) -> None:
        """Raises ``sqlite3.Error``."""


def read_database(path: Path, reader: Reader) -> tuple[str, ...]:
    """Let ``reader`` read the database; the flags of that. What an agent made of it raises nothing."""
    try:
        with copied(path) as base:
            reader.read(base)
    except FileNotFoundError:
        pass
    except OverflowError:
        reader.cut = True
    except sqlite3.Error:
        reader.bad = True
    return (Flag.TRACE_LINES_UNREADABLE,) * reader.bad + (Flag.TRACE_CUT,) * reader.cut


@contextmanager
def copied(path: Path) -> Iterator[sqlite3.Connection]:
    """A copy of the database, together with what a killed runtime had not yet put into it.

    Texts come as bytes. Raises ``FileNotFoundError`` for what is no file, ``OverflowError`` for one that is
    too large, and ``sqlite3.Error``, also from queries, for what is no database or never ends.
    """
    with temporary("database-") as folder:
        copy = folder / "copy.sqlite"
        for suffix in ("", "-wal"):
            try:
                data = read_regular(path.with_name(path.name + suffix), _FILE_LIMIT + 1)
            except OSError as error:
                if not suffix:
                    raise FileNotFoundError(f"{path} is no file") from error
                continue
            if len(data) > _FILE_LIMIT:
                raise OverflowError(f"{path.name}{suffix} has more than {_FILE_LIMIT >> 20} MiB")
            copy.with_name(copy.name + suffix).write_bytes(data)
        with closing(sqlite3.connect(copy)) as base:
            until = time.monotonic() + _PATIENCE
            base.set_progress_handler(lambda: time.monotonic() > until, 10_000)
            base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _TEXT_LIMIT)
            base.text_factory = bytes
            yield base
