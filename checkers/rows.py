"""Checks of CSV files by the key of their rows, all or nothing."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import Path
from typing import Any

LIMIT = 1 << 20
CENT = Decimal("0.005")
Row = Mapping[str, str]


def hold(
    workspace: Path,
    trace: Mapping[str, Any],
    *,
    path: str,
    key: str,
    columns: Sequence[str],
    rows: Mapping[str, Sequence[Any]],
    tolerance: float = 0.005,
) -> tuple[bool, str]:
    """Each key of ``rows`` has one row, with these values in ``columns``."""
    found = _by_key(workspace, path, key)
    wrong = [
        name
        for name, values in rows.items()
        if len(found.get(name, ())) != 1
        or not all(
            _same(value, _cell(found[name][0], column), Decimal(str(tolerance)))
            for column, value in zip(columns, values, strict=True)
        )
    ]
    return not wrong, f"missing or wrong: {', '.join(wrong)}" if wrong else ""


def agree(
    workspace: Path,
    trace: Mapping[str, Any],
    *,
    path: str,
    key: str,
    column: str,
    values: Mapping[str, Any],
    least: int,
) -> tuple[bool, str]:
    """Whichever rows of ``values`` are there, at least ``least``, have that value in ``column``."""
    found = {name: rows for name, rows in _by_key(workspace, path, key).items() if name in values}
    wrong = [
        name
        for name, rows in sorted(found.items())
        if not all(_same(values[name], _cell(row, column)) for row in rows)
    ]
    return len(found) >= least and not wrong, f"{len(found)} rows, wrong: {', '.join(wrong[:9])}"


def named(
    workspace: Path, trace: Mapping[str, Any], *, path: str, columns: Sequence[str]
) -> tuple[bool, str]:
    """The columns are these and no others, in any order; there is at least one row."""
    rows = _rows(workspace, path)
    found = [str(name).strip() for name in rows[0]] if rows else []
    return sorted(found) == sorted(columns), f"columns: {', '.join(found)}"


def exactly(
    workspace: Path, trace: Mapping[str, Any], *, path: str, key: str, values: Sequence[str]
) -> tuple[bool, str]:
    """The rows are those of ``values``, each once, whatever else they say."""
    found = _by_key(workspace, path, key)
    once = all(len(rows) == 1 for rows in found.values())
    extra = sorted(set(found).difference(values))
    missing = sorted(set(values).difference(found))
    return once and not extra and not missing, f"too many: {extra}, missing: {missing}"


def listed(
    workspace: Path,
    trace: Mapping[str, Any],
    *,
    path: str,
    key: str,
    column: str,
    separator: str,
    rows: Mapping[str, Sequence[str]],
) -> tuple[bool, str]:
    """The rows are those of ``rows``, each with this list in ``column``, in any order."""
    found = _by_key(workspace, path, key)
    wrong = [
        name
        for name in sorted({*found, *rows})
        if [_parts(_cell(row, column), separator) for row in found.get(name, ())]
        != [sorted(rows.get(name, ()))]
    ]
    return not wrong, f"missing, wrong or too many: {', '.join(wrong)}" if wrong else ""


def adds_up(
    workspace: Path, trace: Mapping[str, Any], *, path: str, column: str, document: str, member: str
) -> tuple[bool, str]:
    """``member`` of the JSON ``document`` is the sum of ``column``, right or wrong as that is."""
    amounts = [_number(_cell(row, column)) for row in _rows(workspace, path)]
    known = [amount for amount in amounts if amount is not None]
    try:
        stated = _number(str(json.loads(_text(workspace, document))[member]))
    except (ValueError, KeyError, TypeError):
        return False, f"{document} has no {member}"
    if stated is None or not known or len(known) < len(amounts):
        return False, "an amount is missing or no number"
    return abs(sum(known) - stated) < CENT, f"rows sum up to {sum(known)}, stated is {stated}"


def ascending(
    workspace: Path, trace: Mapping[str, Any], *, path: str, column: str, least: int
) -> tuple[bool, str]:
    """At least ``least`` rows, and the values of ``column`` go up: numbers as such, else texts."""
    cells = [_cell(row, column) for row in _rows(workspace, path)]
    numbers = [number for cell in cells if (number := _number(cell)) is not None]
    values: list[Any] = numbers if len(numbers) == len(cells) else cells
    late = [cells[i + 1] for i, (a, b) in enumerate(pairwise(values)) if a > b]
    if len(cells) < least:
        return False, f"{len(cells)} rows"
    return not late, f"out of order: {', '.join(late[:9])}" if late else ""


def _by_key(workspace: Path, path: str, key: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in _rows(workspace, path):
        found.setdefault(_cell(row, key), []).append(row)
    return found


def _rows(workspace: Path, path: str) -> list[Row]:
    lines = _text(workspace, path).splitlines()
    return [row for row in csv.DictReader(lines) if any(row.values())]


def _text(workspace: Path, path: str) -> str:
    file = workspace / path
    if file.is_symlink() or not file.is_file() or file.stat().st_size > LIMIT:
        return ""
    return file.read_text(encoding="utf-8-sig", errors="replace")


def _cell(row: Row, column: str) -> str:
    return (row.get(column) or "").strip()


def _parts(cell: str, separator: str) -> list[str]:
    return sorted(part.strip() for part in cell.split(separator) if part.strip())


def _same(wanted: Any, cell: str, tolerance: Decimal = CENT) -> bool:
    if isinstance(wanted, str):
        return " ".join(cell.split()) == wanted
    number = _number(cell)
    return number is not None and abs(number - Decimal(str(wanted))) <= tolerance


def _number(cell: str) -> Decimal | None:
    try:
        number = Decimal(cell.replace(",", ""))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
