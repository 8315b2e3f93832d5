"""Values that people give in options and tables: checked, or refused with what is allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


class SettingsError(Exception):
    """Options or ``[tool.agentbench]`` that cannot be followed; the message is for people."""


def names(value: Any, key: str) -> tuple[str, ...]:
    """One name or a list of them, each once."""
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not all(isinstance(n, str) and n for n in given):
        raise SettingsError(f"{key} must be a name or a list of names, not {value!r}")
    twice = sorted({name for name in given if given.count(name) > 1})
    if twice:
        raise SettingsError(f"--{key}: {', '.join(twice)} is given twice")
    return tuple(given)


def one_of(value: Any, option: str, allowed: Sequence[str]) -> str:
    """One of the names ``allowed``, or "" where that is what was said."""
    if value and value not in allowed:
        raise SettingsError(unknown(option, str(value), allowed))
    return str(value)


def whole(value: Any, key: str, low: int, high: int) -> int:
    """A whole number from ``low`` to ``high``, both allowed."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise SettingsError(f"{key} must be a whole number from {low} to {high}, not {value!r}")
    return value


def positive(value: Any, key: str) -> float:
    """A finite number above 0."""
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not math.isfinite(value) or value <= 0:
        raise SettingsError(f"{key} must be a number above 0, not {value!r}")
    return float(value)


def refuse_unknown(table: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    """Raise ``SettingsError`` for a key that is not ``allowed``."""
    for key in table:
        if key not in allowed:
            raise SettingsError(unknown(f"{where}: key", key, allowed))


def unknown(where: str, name: str, allowed: Sequence[str]) -> str:
    """The message that ``name`` is none of ``allowed``, with the one that may be meant."""
    import difflib  # only when something is refused

    close = difflib.get_close_matches(name, allowed, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"{where}: {name!r} is not known{hint}; allowed: {', '.join(allowed)}"
