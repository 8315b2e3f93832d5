"""Checks of a ledger in CSV, part by part."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LEDGER = "ledger/takings.csv"
FIELDS = ("row_id", "shop", "day", "till", "amount_cents", "rev", "source", "ref")
LIMIT = 1 << 20


def part(
    workspace: Path,
    trace: Any,
    *,
    rows: int,
    digest: str = "",
    sources: Sequence[str] = (),
    ids: Sequence[str] = (),
    without: Sequence[str] = (),
) -> tuple[bool, str]:
    """The distinct rows of these sources or ids are so many, and have this digest.

    The digest is of the rows as sorted lines, the first 16 digits of SHA-256: a scenario need
    not spell out what it expects.
    """
    try:
        found = {
            ",".join(row)
            for row in _rows(workspace)
            if (row[6] in sources or row[0] in ids) and row[0] not in without
        }
    except (OSError, ValueError, KeyError, csv.Error) as error:
        return False, f"{type(error).__name__}: {error}"
    if len(found) != rows:
        return False, f"{len(found)} rows, not {rows}"
    text = "".join(sorted(f"{line}\n" for line in found))
    right = not digest or hashlib.sha256(text.encode()).hexdigest()[:16] == digest
    return right, "" if right else f"{rows} rows, but others"


def unique(workspace: Path, trace: Any, *, least: int) -> tuple[bool, str]:
    """No row is there twice, and there are at least so many."""
    try:
        ids = [row[0] for row in _rows(workspace)]
    except (OSError, ValueError, KeyError, csv.Error) as error:
        return False, f"{type(error).__name__}: {error}"
    twice = len(ids) - len(set(ids))
    return not twice and len(ids) >= least, f"{len(ids)} rows, {twice} of them again"


def preserved(workspace: Path, trace: Any, *, path: str, sha256: str) -> tuple[bool, str]:
    """The file at ``path`` has the bytes that this digest was made of."""
    try:
        with (workspace / path).open("rb") as file:
            found = hashlib.sha256(file.read(LIMIT)).hexdigest()
    except OSError as error:
        return False, str(error)
    return found == sha256, f"{path} is another file" if found != sha256 else ""


def _rows(workspace: Path) -> list[tuple[str, ...]]:
    with (workspace / LEDGER).open("rb") as file:
        text = file.read(LIMIT).decode().removeprefix("\ufeff")
    rows = []
    for row in csv.DictReader(io.StringIO(text)):
        fields = [(row[name] or "").strip() for name in FIELDS]
        fields[4], fields[5] = str(int(fields[4])), str(int(fields[5]))
        rows.append(tuple(fields))
    return rows
