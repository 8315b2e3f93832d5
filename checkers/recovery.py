"""Checks of a plan to start services again, and of what customers are told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LIMIT = 1 << 20


def waves(
    workspace: Path, trace: Any, *, path: str, expected: Sequence[Sequence[str]]
) -> tuple[bool, str]:
    """``waves`` of the JSON file are these, in this order; order within a wave is free."""
    try:
        found = json.loads(_read(workspace / path))["waves"]
        plain = [sorted(str(name) for name in wave) for wave in found]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        return False, f"{type(error).__name__}: {error}"
    return plain == [sorted(wave) for wave in expected], f"waves are {plain}"


def words(workspace: Path, trace: Any, *, path: str, least: int, most: int) -> tuple[bool, str]:
    """A text of so many words between blanks."""
    try:
        count = len(_read(workspace / path).split())
    except (OSError, ValueError) as error:
        return False, str(error)
    return least <= count <= most, f"{count} words"


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(LIMIT).decode().removeprefix("\ufeff")
