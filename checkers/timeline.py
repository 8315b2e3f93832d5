"""Checks of a timeline that is a CSV file."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LIMIT = 1 << 20


def ascending(
    workspace: Path, trace: Mapping[str, Any], *, path: str, column: str, least: int
) -> tuple[bool, str]:
    """At least ``least`` rows, in the order of their own times, right or wrong as these are."""
    file = workspace / path
    if file.is_symlink() or not file.is_file() or file.stat().st_size > LIMIT:
        return False, f"{path} cannot be read"
    lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    times = [_time(row.get(column) or "") for row in csv.DictReader(lines) if any(row.values())]
    known = [time for time in times if time is not None]
    ordered = known == sorted(known)
    return len(times) == len(known) >= least and ordered, f"{len(known)} times, sorted: {ordered}"


def _time(text: str) -> datetime.datetime | None:
    try:
        return datetime.datetime.strptime(text.strip(), "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return None
