"""What a native transcript tells of a run, whatever the runtime."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.files import read_regular
from pytest_agentbench.flag import Flag
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Event, EventKind

_LIMIT = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended, as its transcript has it.

    ``http`` is what the model answered when that ended the run; the status is then only what
    follows where HTTP has nothing to say.
    """

    status: Status
    message: str = ""
    http: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """Events after the prompt, usage as the runtime counts it, and the end if there was one."""

    events: tuple[Event, ...] = ()
    usage: Usage = field(default_factory=Usage)
    ending: Ending | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """JSON objects of a file, one a line."""

    rows: tuple[dict[str, Any], ...] = ()
    flags: tuple[str, ...] = ()


def read_rows(path: Path) -> Rows:
    """What the file holds; whatever an agent made of it, this raises nothing.

    The last line of a runtime that was killed may be half a line: that is no fault.
    """
    try:
        return rows_in(read_regular(path, _LIMIT + 1))
    except OSError:
        return Rows()


def rows_in(data: bytes) -> Rows:
    """What the lines hold, of a file or of what a program printed."""
    rows: list[dict[str, Any]] = []
    lines = data[:_LIMIT].splitlines()
    bad = 0
    for line in lines:
        try:
            rows.append(object_in(line))
        except (ValueError, TypeError, RecursionError):
            bad += 1
    if bad and not data.endswith(b"\n"):
        bad -= 1
    unreadable = (Flag.TRACE_LINES_UNREADABLE,) * bool(bad)
    return Rows(rows=tuple(rows), flags=unreadable + (Flag.TRACE_CUT,) * (len(data) > _LIMIT))


def object_in(data: bytes) -> dict[str, Any]:
    """The JSON object that the bytes are.

    Raises ``ValueError``, ``TypeError`` or ``RecursionError`` for what is none.
    """
    found = json.loads(data.decode("utf-8", "replace"))
    if b"\\ud" in data.lower():
        # Halves of surrogate pairs, which no file can hold, are replaced.
        found = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
    if not isinstance(found, dict):
        raise TypeError("it is no object")
    return found


def flags_of(files: Iterable[Rows]) -> tuple[str, ...]:
    """The flags of several files, each of them once."""
    return tuple(dict.fromkeys(flag for file in files for flag in file.flags))


def seconds(timestamp: object) -> float | None:
    """Unix time of an ISO timestamp; None for anything else."""
    try:
        return datetime.fromisoformat(str(timestamp)).timestamp()
    except (ValueError, OverflowError):
        return None


def since(timestamp: object, start: float | None) -> float | None:
    """Seconds from ``start`` to an ISO timestamp, where both are known."""
    now = seconds(timestamp)
    return None if now is None or start is None else max(0.0, round(now - start, 3))


def started(rows: Iterable[Mapping[str, Any]]) -> float | None:
    """Unix time of the first row that has a ``timestamp``."""
    return next((t for row in rows if (t := seconds(row.get("timestamp"))) is not None), None)


def with_deeds(events: Iterable[Event], subagents: Iterable[Iterable[Event]]) -> tuple[Event, ...]:
    """The events of an agent together with what its subagents did.

    What those said is left out: that was an answer to their parent.
    """
    deeds = (
        [event for event in part if event.kind is not EventKind.ASSISTANT] for part in subagents
    )
    return in_time((events, *deeds))


def text_of(content: object) -> str:
    """The text of what is a text, or a list of parts with one each."""
    if not isinstance(content, list):
        return str(content or "")
    parts = (part for part in content if isinstance(part, dict))
    return "\n".join(str(p.get("text") or f"[{p.get('type')}]") for p in parts)


def total(parts: Iterable[Mapping[str, Any]], *names: str) -> int:
    """The sum of the whole numbers that the parts have under the names."""
    return sum(v for part in parts for name in names if type(v := part.get(name)) is int)


def in_time(parts: Iterable[Iterable[Event]]) -> tuple[Event, ...]:
    """The events of several agents as one sequence; each keeps its own order."""
    placed: list[tuple[float, Event]] = []
    for part in parts:
        latest = 0.0
        for event in part:
            latest = max(latest, event.time or 0.0)
            placed.append((latest, event))
    return tuple(event for _, event in sorted(placed, key=lambda pair: pair[0]))
