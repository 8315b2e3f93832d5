"""Canonical events as JSON lines: the trace that our own runtimes and willing programs write."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_agentbench.files import read_regular
from pytest_agentbench.flag import Flag
from pytest_agentbench.trace.events import Event, EventKind

_LIMIT = 64 << 20
_DEFAULT = Event(kind=EventKind.USER)


@dataclass(frozen=True, slots=True)
class Reading:
    """Events of a file in order; ``bad`` counts lines that are none, ``cut`` says it was too big."""

    events: tuple[Event, ...] = ()
    bad: int = 0
    cut: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        return (Flag.TRACE_LINES_UNREADABLE,) * bool(self.bad) + (Flag.TRACE_CUT,) * self.cut


def to_json(event: Event) -> dict[str, Any]:
    """The event without the fields that have their default value."""
    return {
        field.name: value
        for field in dataclasses.fields(event)
        if (value := getattr(event, field.name)) != getattr(_DEFAULT, field.name)
        or field.name == "kind"
    }


def from_json(data: Any) -> Event:
    """The event that ``data`` describes; raises ``ValueError`` or ``TypeError`` when it is none."""
    if not isinstance(data, Mapping):
        raise TypeError("an event is an object")
    values: dict[str, Any] = {"kind": EventKind(str(data.get("kind")))}
    for name in ("text", "tool", "call_id", "native_name"):
        values[name] = str(data.get(name) or "")
    for name in ("args", "native"):
        value = data.get(name) or {}
        if not isinstance(value, Mapping):
            raise TypeError(f"{name} is an object")
        values[name] = value
    status, time = data.get("status"), data.get("time")
    values["status"] = status if isinstance(status, int) else None
    # No NaN, infinity or integer beyond a float, all of which JSON in Python lets through.
    sane = isinstance(time, (int, float)) and 0 <= time < 1e12
    values["time"] = float(time or 0) if sane else None
    return Event(**values)


def read_events(path: Path) -> Reading:
    """What the file holds; whatever an agent made of it, this raises nothing."""
    try:
        return parse_events(read_regular(path, _LIMIT + 1))
    except OSError:
        return Reading()


def parse_events(data: bytes) -> Reading:
    """Events, one a line. Raises nothing."""
    events, bad = [], 0
    for line in data[:_LIMIT].splitlines():
        try:
            events.append(from_json(_loads(line)))
        except (ValueError, TypeError, RecursionError):
            bad += 1
    return Reading(tuple(events), bad, cut=len(data) > _LIMIT)


def _loads(line: bytes) -> Any:
    """Strict JSON; halves of surrogate pairs, which no file can hold, are replaced."""
    data = json.loads(line, parse_constant=_refuse)
    if b"\\ud" in line.lower():
        text = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
        data = json.loads(text)
    return data


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
