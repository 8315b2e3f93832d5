"""The database in which opencode keeps its sessions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.trace.database import read_database
from pytest_agentbench.trace.transcript import object_in

_LIMIT = 64 << 20
_SESSIONS = "SELECT id, parent_id, title FROM session ORDER BY time_created, id"
_MESSAGES = "SELECT session_id, id, data FROM message ORDER BY time_created, id"
_PARTS = "SELECT message_id, data FROM part ORDER BY message_id, id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session; those of its agents have it as ``parent``.

    Each message is an object, as the runtime wrote it, with its ``parts`` in it.
    """

    id: str
    parent: str
    title: str
    messages: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The sessions in the order in which they began."""

    sessions: tuple[Session, ...] = ()
    flags: tuple[str, ...] = ()


def read_store(path: Path) -> Store:
    """What the database holds; whatever an agent made of it, this raises nothing."""
    reader = _Reader()
    flags = read_database(path, reader)
    return Store(sessions=tuple(reader.sessions()), flags=flags)


@dataclass(slots=True)
class _Reader:
    heads: dict[str, tuple[str, str]] = field(default_factory=dict)
    messages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    bad: bool = False
    cut: bool = False
    left: int = _LIMIT

    def read(self, base: sqlite3.Connection) -> None:
        """Raises ``sqlite3.Error``."""
        for name, parent, title in base.execute(_SESSIONS):
            self.heads[_text(name)] = (_text(parent), _text(title))
        parts: dict[str, list[dict[str, Any]]] = {}
        for message, data in base.execute(_PARTS):
            if (row := self._row(data)) is not None:
                parts.setdefault(_text(message), []).append(row)
        for session, message, data in base.execute(_MESSAGES):
            if (row := self._row(data)) is not None:
                row["parts"] = parts.get(_text(message), [])
                self.messages.setdefault(_text(session), []).append(row)

    def sessions(self) -> Iterator[Session]:
        for name, (parent, title) in self.heads.items():
            found = tuple(self.messages.get(name, ()))
            yield Session(id=name, parent=parent, title=title, messages=found)

    def _row(self, data: object) -> dict[str, Any] | None:
        text = data if isinstance(data, bytes) else b""
        self.left -= len(text)
        if self.left < 0:
            self.cut = True
            return None
        try:
            return object_in(text)
        except (ValueError, TypeError, RecursionError):
            self.bad = True
            return None


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
