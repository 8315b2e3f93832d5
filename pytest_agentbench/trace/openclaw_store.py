"""The database in which OpenClaw keeps its sessions, once an agent had its hands on it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.trace.database import read_database
from pytest_agentbench.trace.transcript import object_in

Decompress = Callable[[bytes, int], bytes]

_TEXT_LIMIT = 64 << 20
#: What the runtime itself allows for one compressed entry.
_ENTRY_LIMIT = 4 << 20
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
    """What the database holds; whatever an agent made of it, this raises nothing."""
    reader = _Reader()
    flags = read_database(path, reader)
    return Store(
        sessions={name: tuple(rows) for name, rows in reader.sessions.items()},
        flags=flags,
    )


@dataclass(slots=True)
class _Reader:
    sessions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    bad: bool = False
    cut: bool = False

    def read(self, base: sqlite3.Connection) -> None:
        """Raises ``sqlite3.Error``."""
        if base.execute(_TABLE).fetchone() is None:
            self.bad = True
            return
        try:
            decompress: Decompress | None = decompressor()
        except ImportError:
            decompress = None
        read = 0
        for session, plain, packed, size in base.execute(_ROWS):
            try:
                entry = _entry(plain, packed, size, decompress)
                self.sessions.setdefault(session.decode(), []).append(object_in(entry))
            except (ValueError, TypeError, AttributeError, RecursionError):
                self.bad = True
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
