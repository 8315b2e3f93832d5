"""Checks of an allocation against itself: whether its rows and its summary tell the same story."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

AWARDS, SUMMARY, REQUESTS = "out/awards.csv", "out/summary.json", "requests.csv"
LIMIT = 1 << 20


def complete(workspace: Path, trace: Any, *, requests: int) -> tuple[bool, str]:
    """The awards name each of the requests once, and nothing else."""
    try:
        found = sorted(row["request_id"] for row in _rows(workspace / AWARDS))
        asked = sorted(row["request_id"] for row in _rows(workspace / REQUESTS))
    except (OSError, ValueError, KeyError, csv.Error) as error:
        return False, str(error)
    return found == asked and len(asked) == requests, f"{len(found)} rows"


def balanced(workspace: Path, trace: Any, *, fund: float) -> tuple[bool, str]:
    """The rows of each pot add up to its sum, pots to the total, total and reserve to the fund."""
    try:
        pot = {row["request_id"]: row["pot"] for row in _rows(workspace / REQUESTS)}
        sums = dict.fromkeys(pot.values(), 0.0)
        for row in _rows(workspace / AWARDS):
            sums[pot[row["request_id"]]] += float(row["award_eur"].replace(",", "") or 0)
        summary = json.loads(_read(workspace / SUMMARY))
        pots = summary["pots"]
        for name, total in sums.items():
            given = pots[name]
            if abs(given["awarded_eur"] - total) > 0.01:
                return False, f"{name}: the rows add up to {total}, not {given['awarded_eur']}"
            if abs(given["size_eur"] - total - given["left_eur"]) > 0.01:
                return False, f"{name}: size, awards and rest do not add up"
        total = sum(sums.values())
        if not total or abs(summary["awarded_eur"] - total) > 0.01:
            return False, f"the rows add up to {total}, not {summary['awarded_eur']}"
        kept = summary["reserve_after_eur"]
        return abs(kept + total - fund) <= 0.01, f"awards {total} and reserve {kept} of {fund}"
    except (OSError, ValueError, KeyError, TypeError, RecursionError, csv.Error) as error:
        return False, f"{type(error).__name__}: {error}"


def _rows(path: Path) -> list[dict[str, str]]:
    return [
        {str(name).strip(): (value or "").strip() for name, value in row.items()}
        for row in csv.DictReader(io.StringIO(_read(path)))
    ]


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(LIMIT).decode().removeprefix("\ufeff")
