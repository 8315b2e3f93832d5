"""CSV: one line a trial."""

from __future__ import annotations

import csv
import io
from typing import BinaryIO

from pytest_agentbench.report.flat import COLUMNS, Value, row
from pytest_agentbench.report.reader import RunReader
from pytest_agentbench.text import escape

#: What spreadsheets take for the start of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
#: Characters of a cell: spreadsheets take 32,767.
_WIDTH = 8_000


def write(run: RunReader, out: BinaryIO) -> None:
    """UTF-8, commas, CRLF (RFC 4180); unknown is empty. Raises ``RunError``."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=False)
    writer = csv.writer(text)
    writer.writerow([column.name for column in COLUMNS])
    for trial, record in run.pairs():
        writer.writerow(list(map(cell, row(trial, record))))
    text.flush()
    text.detach()


def cell(value: Value) -> str:
    """A value as a cell that no spreadsheet runs. Control characters are escaped."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return repr(value)
    # A blank before it would be cut by some, and the formula be one again.
    guard = "'" if value.lstrip().startswith(_FORMULA) or value.startswith(_FORMULA) else ""
    return guard + escape(value, _WIDTH)
