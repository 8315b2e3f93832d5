"""Checks of a timeline that is a CSV file: which rows it has, when, and in what order."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LIMIT = 1 << 20


def happened(
    workspace: Path, trace: Mapping[str, Any], *, path: str, source: str, times: Mapping[str, str]
) -> tuple[bool, str]:
    """Each ``ref`` of ``times`` has one row, of this source and at this time."""
    rows = _rows(workspace, path)
    wrong = [ref for ref, time in times.items() if _found(rows, ref) != [(source, _time(time))]]
    return not wrong, f"missing, or at another time: {', '.join(wrong)}" if wrong else ""


def exactly(
    workspace: Path, trace: Mapping[str, Any], *, path: str, refs: Sequence[str]
) -> tuple[bool, str]:
    """The rows are those of ``refs``, each once, whatever their times are."""
    found = sorted(_cell(row, "ref") for row in _rows(workspace, path))
    extra = sorted(set(found).difference(refs))
    return found == sorted(refs), f"{len(found)} rows; not to be there: {', '.join(extra) or '-'}"


def ascending(
    workspace: Path, trace: Mapping[str, Any], *, path: str, least: int
) -> tuple[bool, str]:
    """At least ``least`` rows, in the order of their own times, right or wrong as these are."""
    times = [_time(_cell(row, "time_utc")) for row in _rows(workspace, path)]
    known = [time for time in times if time is not None]
    ordered = known == sorted(known)
    return len(times) == len(known) >= least and ordered, f"{len(known)} times, sorted: {ordered}"


def _found(rows: list[dict[str, str]], ref: str) -> list[tuple[str, datetime.datetime | None]]:
    return [
        (_cell(row, "source"), _time(_cell(row, "time_utc")))
        for row in rows
        if _cell(row, "ref") == ref
    ]


def _rows(workspace: Path, path: str) -> list[dict[str, str]]:
    file = workspace / path
    if file.is_symlink() or not file.is_file() or file.stat().st_size > LIMIT:
        return []
    text = file.read_text(encoding="utf-8-sig", errors="replace")
    return [row for row in csv.DictReader(text.splitlines()) if any(row.values())]


def _cell(row: Mapping[str, str], column: str) -> str:
    return (row.get(column) or "").strip()


def _time(text: str) -> datetime.datetime | None:
    try:
        return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return None
