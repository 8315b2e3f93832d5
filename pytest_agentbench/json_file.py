"""A JSON file of a workspace, of which a test says what it must hold."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from pytest_agentbench.grading.equality import same
from pytest_agentbench.grading.json_query import select
from pytest_agentbench.text import cut, escape

_SHOWN = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Json:
    """A parsed file, or a part of it: the value at ``place``. Methods raise ``AssertionError``."""

    name: str
    value: Any
    place: str = "$"

    def at(self, query: str) -> Json:
        """What a JSONPath selects: one value, or the list of all where it may select several."""
        selected, single = select(query, self.value)
        rest = query.removeprefix("$")
        place = self.place + (rest if not rest or rest[0] in ".[" else f".{rest}")
        if single and not selected:
            raise AssertionError(self._failed(place, "a value", f"nothing; {_has(self.value)}"))
        return replace(self, value=selected[0] if single else selected, place=place)

    def equals(self, expected: Any, *, tolerance: float = 0.0) -> Json:
        """See that it is ``expected``, numbers within ``tolerance``; the first difference is told."""
        if not same(expected, self.value, tolerance=tolerance):
            place, wanted, found = _difference(expected, self.value, self.place, tolerance)
            raise AssertionError(self._failed(place, wanted, found))
        return self

    def contains(self, member: Any) -> Json:
        """See that a list has ``member``, an object the key, or a text the words."""
        value = self.value
        if isinstance(value, str):
            inside = isinstance(member, str) and member in value
        else:
            members = value if isinstance(value, list | dict) else ()
            inside = any(same(member, each) for each in members)
        if not inside:
            raise AssertionError(
                self._failed(self.place, f"something that contains {_text(member)}", _text(value))
            )
        return self

    def _failed(self, place: str, expected: str, found: str) -> str:
        return f"{self.name!r} at {place}\n  expected: {expected}\n  found:    {found}"


def parse(name: str, content: bytes) -> Json:
    """The JSON of a file. Raises ``AssertionError``."""
    try:
        return Json(name=name, value=json.loads(content))
    except (ValueError, RecursionError) as error:
        start = cut(content.decode("utf-8", "replace"), _SHOWN)
        raise AssertionError(
            f"{name!r} is not JSON\n  expected: JSON\n  found:    {escape(start)}\n  why:      {error}"
        ) from None


def _difference(expected: Any, found: Any, place: str, tolerance: float) -> tuple[str, str, str]:
    """The innermost place at which the two differ first, and what is there in words."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            here = f"{place}.{key}" if str(key).isidentifier() else f"{place}[{key!r}]"
            if key not in found:
                return here, _text(expected[key]), f"nothing; {_has(found)}"
            if key not in expected:
                return here, "nothing", _text(found[key])
            if not same(expected[key], found[key], tolerance=tolerance):
                return _difference(expected[key], found[key], here, tolerance)
    if isinstance(expected, list) and isinstance(found, list):
        for index, (left, right) in enumerate(zip(expected, found, strict=False)):
            if not same(left, right, tolerance=tolerance):
                return _difference(left, right, f"{place}[{index}]", tolerance)
        return place, f"{len(expected)} items", f"{len(found)} items: {_text(found)}"
    within = f" within {tolerance:g}" if tolerance and isinstance(expected, int | float) else ""
    return place, _text(expected) + within, _text(found)


def _has(value: Any) -> str:
    if isinstance(value, dict):
        return f"it has: {escape(', '.join(map(str, value)), _SHOWN) or 'nothing'}"
    return f"it is {_text(value)}"


def _text(value: Any) -> str:
    return escape(json.dumps(value, ensure_ascii=False, default=str), _SHOWN)
