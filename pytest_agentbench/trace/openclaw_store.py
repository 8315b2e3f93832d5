"""The database in which OpenClaw keeps its sessions, once an agent had its hands on it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.files import read_regular, temporary
from pytest_agentbench.flag import Flag

Decompress = Callable[[bytes, int], bytes]

_FILE_LIMIT = 256 << 20
_TEXT_LIMIT = 64 << 20
#: What the runtime itself allows for one compressed entry.
_ENTRY_LIMIT = 4 << 20
#: Seconds for all queries: a view in place of a table may never end.
_PATIENCE = 20.0
_TABLE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'transcript_events'"
_ROWS = (
    "SELECT session_id, event_json, event_zstd, event_utf8_bytes FROM transcript_events "
    "ORDER BY created_at, session_id, seq"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The entries of each session by its id, the session that began first before the others."""

    sessions: Mapping[str, tuple[dict[str, Any], ...]] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def decompressor() -> Decompress:
    """What unpacks entries, which are kept compressed from one KiB on. Raises ``ImportError``."""
    zstd = _zstd()

    def decompress(data: bytes, size: int) -> bytes:
        try:
            whole: bytes = zstd.ZstdDecompressor().decompress(data, max_length=size)
        except zstd.ZstdError as error:
            raise ValueError(str(error)) from error
        return whole

    return decompress


def read_store(path: Path) -> Store:
    """What the database holds; whatever an agent made of it, this raises nothing.

    It is read from a copy, together with what a killed runtime had not yet put into it.
    """
    with temporary("openclaw-") as folder:
        copy = folder / "store.sqlite"
        for suffix in ("", "-wal"):
            try:
                data = read_regular(path.with_name(path.name + suffix), _FILE_LIMIT + 1)
            except OSError:
                if not suffix:
                    return Store()
                continue
            if len(data) > _FILE_LIMIT:
                return Store(flags=(Flag.TRACE_CUT,))
            copy.with_name(copy.name + suffix).write_bytes(data)
        reader = _Reader()
        try:
            with closing(sqlite3.connect(copy)) as base:
                reader.read(base)
        except sqlite3.Error:
            reader.bad += 1
    unreadable = (Flag.TRACE_LINES_UNREADABLE,) * bool(reader.bad)
    return Store(
        sessions={name: tuple(rows) for name, rows in reader.sessions.items()},
        flags=unreadable + (Flag.TRACE_CUT,) * reader.cut,
    )


@dataclass(slots=True)
class _Reader:
    sessions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    bad: int = 0
    cut: bool = False

    def read(self, base: sqlite3.Connection) -> None:
        """Raises ``sqlite3.Error``."""
        until = time.monotonic() + _PATIENCE
        base.set_progress_handler(lambda: time.monotonic() > until, 10_000)
        base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _TEXT_LIMIT)
        base.text_factory = bytes
        if base.execute(_TABLE).fetchone() is None:
            self.bad += 1
            return
        try:
            decompress: Decompress | None = decompressor()
        except ImportError:
            decompress = None
        read = 0
        for session, plain, packed, size in base.execute(_ROWS):
            try:
                entry = _entry(plain, packed, size, decompress)
                self.sessions.setdefault(session.decode(), []).append(_row(entry))
            except (ValueError, TypeError, AttributeError, RecursionError):
                self.bad += 1
                continue
            read += len(entry)
            if read > _TEXT_LIMIT:
                self.cut = True
                return


def _zstd() -> Any:
    from importlib import import_module

    try:
        return import_module("compression.zstd")  # in Python itself from 3.14 on
    except ImportError:
        return import_module("backports.zstd")


def _entry(plain: Any, packed: Any, size: Any, decompress: Decompress | None) -> bytes:
    """The JSON of an entry. Raises ``ValueError`` or ``TypeError`` for what is none."""
    if isinstance(plain, bytes):
        return plain
    if decompress is None or not isinstance(packed, bytes) or type(size) is not int:
        raise TypeError("an entry is a text, or compressed")
    if not 0 < size <= _ENTRY_LIMIT:
        raise ValueError(f"an entry of {size} bytes")
    return decompress(packed, size)


def _row(entry: bytes) -> dict[str, Any]:
    data = json.loads(entry.decode("utf-8", "replace"))
    if b"\\ud" in entry.lower():
        # Halves of surrogate pairs, which no file can hold, are replaced.
        data = json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))
    if not isinstance(data, dict):
        raise TypeError("an entry is an object")
    return data
