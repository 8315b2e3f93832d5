"""Tables as agents write them: CSV, TSV, or a pipe table in Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from pytest_agentbench.grading.equality import pair, run
from pytest_agentbench.grading.evidence import Evidence, Unreadable
from pytest_agentbench.grading.verdict import Evaluator, Verdict, text

Cell = Decimal | str
Row = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as found: the names of its columns, and its rows by them."""

    columns: tuple[str, ...]
    rows: list[Row]


#: Digits with optional commas between thousands. A leading zero makes a code, not a number.
_NUMBER = re.compile(
    r"[+-]?(?:0|[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]{0,99})(?:\.[0-9]{1,99})?"
    r"(?:[eE][+-]?[0-9]{1,2})?"
)
_RULE = re.compile(r":?-+:?")
_EMPHASIS = re.compile(r"(\*\*|__|`|\*|_)(.+)\1")


def table(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    """Share of the expected ``rows`` that the table holds, less its rows too many.

    The file is a Markdown pipe table if its name ends in ``.md`` (the first one with the
    expected columns), else CSV with ``delimiter``, which is a tab for ``.tsv`` and a comma
    otherwise; the first row names the columns, blank rows do not count. An expected row is a
    mapping of columns to values, and right when all of these are; other columns are free.

    Numbers are equal by value, within the absolute ``tolerance`` (0 unless given), commas
    between thousands allowed; other values as text, spaces around and in a row aside.
    ``ignore_case`` holds for column names and text. ``key`` names the column, or the columns,
    that identify a row: a key found twice is wrong. ``ordered`` counts the longest run of
    expected rows in their order. Rows beyond the number expected each take the value of one
    row away, down to 0, unless ``extra_rows`` is true.
    """
    expected: list[Mapping[str, Any]] = params["rows"]
    if not expected:
        raise ValueError("rows is empty")
    ignore_case = bool(params.get("ignore_case"))
    wanted = [_row(row.keys(), row.values(), ignore_case) for row in expected]
    columns = {column for row in wanted for column in row}
    grid = _read(params, evidence, columns, ignore_case)
    if missing := sorted(columns.difference(grid.columns)):
        return Verdict(0.0, f"no column {text(missing)}", "", text(grid.columns))
    found = rows = grid.rows
    surplus = 0 if params.get("extra_rows") else max(0, len(found) - len(wanted))
    if surplus >= len(wanted):
        return Verdict(0.0, "", f"{len(wanted)} rows", f"{len(found)} rows")
    equal = partial(_equal, Decimal(str(params.get("tolerance", 0))))
    if key := params.get("key"):
        names = [_name(column, ignore_case) for column in ([key] if isinstance(key, str) else key)]
        rows = _unique(found, names)
    right = (run if params.get("ordered") else pair)(wanted, rows, equal)
    wrong = [i for i, row in enumerate(wanted) if not any(equal(row, other) for other in rows)]
    return Verdict(
        max(0, right - surplus) / len(wanted),
        f"{right} of {len(wanted)} rows right, {surplus} too many",
        text(expected[wrong[0]]) if wrong else f"{len(wanted)} rows",
        f"{len(found)} rows",
    )


def _equal(tolerance: Decimal, wanted: Row, row: Row) -> bool:
    for column, value in wanted.items():
        cell = row.get(column, "")
        if cell != value and not (
            isinstance(cell, Decimal)
            and isinstance(value, Decimal)
            and abs(cell - value) <= tolerance
        ):
            return False
    return True


def _row(columns: Iterable[Any], values: Iterable[Any], ignore_case: bool) -> Row:
    return {
        _name(column, ignore_case): _cell(value, ignore_case)
        for column, value in zip(columns, values, strict=False)
    }


def _cell(value: Any, ignore_case: bool) -> Cell:
    """What a cell stands for: a number, or text in one spelling."""
    plain = " ".join(("" if value is None else str(value)).split())
    if _NUMBER.fullmatch(plain):
        return Decimal(plain.replace(",", ""))
    return plain.casefold() if ignore_case or plain.casefold() in ("true", "false") else plain


def _name(column: str, ignore_case: bool) -> str:
    plain = " ".join(str(column).split())
    return plain.casefold() if ignore_case else plain


def _unique(rows: list[Row], names: Sequence[str]) -> list[Row]:
    """Rows whose key is found once: of two that contradict each other none counts."""
    keys = [tuple(row.get(name, "") for name in names) for row in rows]
    counts = Counter(keys)
    return [row for row, key in zip(rows, keys, strict=True) if counts[key] == 1]


def _read(
    params: Mapping[str, Any], evidence: Evidence, columns: set[str], ignore_case: bool
) -> Grid:
    path: str = params["path"]
    content = evidence.read_text(path).removeprefix("\ufeff")
    if path.lower().endswith(".md") and "delimiter" not in params:
        tables = [_grid(lines, ignore_case) for lines in _pipe_tables(content.splitlines())]
        if not tables:
            raise Unreadable(f"{path} holds no table")
        return next((grid for grid in tables if columns <= set(grid.columns)), tables[0])
    fallback = "\t" if path.lower().endswith(".tsv") else ","
    return _grid(_delimited(path, content, params.get("delimiter", fallback)), ignore_case)


def _delimited(path: str, content: str, delimiter: str) -> list[list[str]]:
    import csv
    import io

    try:
        return list(csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise Unreadable(f"{path} is no table: {error}") from None


def _pipe_tables(lines: list[str]) -> Iterable[list[list[str]]]:
    """Cells of each table: a row, a rule of dashes, rows up to the first line without a pipe."""
    end = 0
    for i in range(1, len(lines)):
        if i > end and "|" in lines[i - 1] and _is_rule(lines[i]):
            end = i + 1
            while end < len(lines) and "|" in lines[end]:
                end += 1
            yield [_cells(line) for line in (lines[i - 1], *lines[i + 1 : end])]


def _is_rule(line: str) -> bool:
    return "|" in line and all(_RULE.fullmatch(cell) for cell in _cells(line))


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner if inner.endswith("\\|") else inner.removesuffix("|")
    cells = [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", inner)]
    return [m.group(2).strip() if (m := _EMPHASIS.fullmatch(cell)) else cell for cell in cells]


def _grid(cells: list[list[str]], ignore_case: bool) -> Grid:
    """A row with more cells than columns is kept, but empty: it cannot be right."""
    filled = [row for row in cells if any(cell.strip() for cell in row)] or [[]]
    header = tuple(_name(column, ignore_case) for column in filled[0])
    if twice := sorted({name for name in header if name and header.count(name) > 1}):
        raise Unreadable(f"the table names column {text(twice)} twice")
    rows = [row if len(row) <= len(header) else [] for row in filled[1:]]
    return Grid(header, [_row(header, row, ignore_case) for row in rows])


EVALUATORS: dict[str, Evaluator] = {"table": table}
