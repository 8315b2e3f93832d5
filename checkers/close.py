"""Checks of a quarter close."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

LIMIT = 1 << 20
#: What adding cents up in floating point may leave behind them.
NOISE = 1e-6


def consistent(
    workspace: Path, trace: Mapping[str, Any], *, path: str, pairs: str, tolerance: float
) -> tuple[bool, str]:
    """The sums among the figures hold, right or wrong as the figures themselves are.

    Group revenue is that of the entities, the result is revenue less both costs, and the
    elimination difference is that of the rows in ``pairs``.
    """
    try:
        close = json.loads(_text(workspace, path))
        revenue = close["revenue"]
        rows = list(csv.DictReader(_text(workspace, pairs).splitlines()))
        sums = {
            "revenue.group": (revenue["group"], revenue["DE"] + revenue["UK"] + revenue["US"]),
            "operating_result": (
                close["operating_result"],
                revenue["group"] - close["cost_of_sales"] - close["operating_expenses"],
            ),
            "elimination_difference": (
                close["elimination_difference"],
                sum(_number(row["income_eur"]) - _number(row["cost_eur"]) for row in rows),
            ),
        }
        wrong = [name for name, (told, due) in sums.items() if not abs(told - due) <= tolerance]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return False, f"a figure is missing or no number: {error}"
    return not wrong, f"not the sum of its parts: {', '.join(wrong)}" if wrong else ""


def rounded(
    workspace: Path, trace: Mapping[str, Any], *, path: str, pairs: str
) -> tuple[bool, str]:
    """Every amount in both files has at most two decimals, whatever it is."""
    try:
        close = json.loads(_text(workspace, path))
        rows = list(csv.DictReader(_text(workspace, pairs).splitlines()))
        amounts = list(_numbers(close))
        amounts += [_number(row[name]) for row in rows for name in ("income_eur", "cost_eur")]
        finer = [amount for amount in amounts if not abs(amount - round(amount, 2)) <= NOISE]
    except (ValueError, KeyError, AttributeError) as error:
        return False, f"an amount is missing or no number: {error}"
    return bool(rows) and not finer, f"finer than a cent: {finer[:9]}" if finer else ""


def _numbers(value: object) -> Iterator[float]:
    """All numbers in a JSON document."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _numbers(part)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def _text(workspace: Path, path: str) -> str:
    file = workspace / path
    if file.is_symlink() or not file.is_file() or file.stat().st_size > LIMIT:
        return ""
    return file.read_text(encoding="utf-8-sig", errors="replace")


def _number(cell: str) -> float:
    return float(cell.replace(",", ""))
