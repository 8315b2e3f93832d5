"""Aligned text tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def table(
    title: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], width: int
) -> list[str]:
    """A head, then one line a row: a name to the left, right-aligned cells.

    Names are cut where the lines would be longer than ``width`` columns.
    """
    widths = [
        max(map(columns, (head, *(cells[i] for _, cells in rows)))) for i, head in enumerate(heads)
    ]
    room = max(columns(title), width - sum(widths) - 2 * len(widths))
    left = min(room, max(map(columns, (title, *(name for name, _ in rows)))))
    return [
        pad(shorten(name, left), left) + _cells(cells, widths)
        for name, cells in ((title, heads), *rows)
    ]


def _cells(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(
        "  " + " " * (width - columns(cell)) + cell
        for cell, width in zip(cells, widths, strict=True)
    )


def columns(text: str) -> int:
    """Columns that a terminal gives to ``text``, which holds no control characters."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def pad(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def shorten(text: str, width: int) -> str:
    """``text``, cut with an ellipsis to at most ``width`` columns."""
    if columns(text) <= width:
        return text
    while text and columns(text) > width - 1:
        text = text[:-1]
    return text.rstrip() + "…"
