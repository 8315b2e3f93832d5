"""Values that people give in options and tables: checked, or refused with what is allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class SettingsError(Exception):
    """Options or ``[tool.agentbench]`` that cannot be followed; the message is for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What is asked for by name: on the command line, else in the table ``place``."""

    asked: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""

    def get(self, key: str, default: Any = None) -> Any:
        return self.asked.get(key, self.defaults.get(key, default))

    def where(self, key: str) -> str:
        """Where the value stands that ``get`` gives: an option, or a file, a table and its key."""
        if key in self.asked or key not in self.defaults:
            return f"--{key.replace('_', '-')}"
        return f"{self.place}: {key}"


def names(value: Any, key: str) -> tuple[str, ...]:
    """One name or a list of them, each once."""
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not all(isinstance(n, str) and n for n in given):
        raise SettingsError(f"{key} must be a name or a list of names, not {value!r}")
    twice = sorted({name for name in given if given.count(name) > 1})
    if twice:
        raise SettingsError(f"{key}: {', '.join(twice)} is given twice")
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
