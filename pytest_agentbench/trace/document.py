"""Transcripts of files with one JSON object each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.files import read_regular
from pytest_agentbench.flag import Flag
from pytest_agentbench.trace.transcript import Rows, object_in

_LIMIT = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a file holds, empty where that is nothing of use."""

    data: dict[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def read_document(path: Path) -> Document:
    """What the file holds; whatever an agent made of it, this raises nothing."""
    try:
        text = read_regular(path, _LIMIT + 1)
    except OSError:
        return Document()
    if len(text) > _LIMIT:
        return Document(flags=(Flag.TRACE_CUT,))
    try:
        return Document(data=object_in(text))
    except (ValueError, TypeError, RecursionError):
        return Document(flags=(Flag.TRACE_LINES_UNREADABLE,))


def read_documents(paths: Iterable[Path]) -> Rows:
    """What several files hold, in the order of their names."""
    found = [read_document(path) for path in sorted(paths)]
    flags = dict.fromkeys(flag for each in found for flag in each.flags)
    return Rows(rows=tuple(each.data for each in found if each.data), flags=tuple(flags))
