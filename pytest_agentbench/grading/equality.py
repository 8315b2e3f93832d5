"""When two JSON values count as equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

#: Is the value the one at the left, which the scenario expects?
Equal = Callable[[Any, Any], bool]


def same(
    expected: Any, found: Any, *, tolerance: float | None = 0.0, ignore_case: bool = False
) -> bool:
    """Whether two JSON values are equal, member by member.

    Numbers compare by value, within the absolute ``tolerance``; None is 1e-6, absolute or
    relative, whichever is wider. A boolean is no number. ``ignore_case`` is for strings that
    are values, not for keys.
    """
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, int | float) and isinstance(found, int | float):
        return _close(expected, found, tolerance)
    if isinstance(expected, str) and isinstance(found, str):
        return fold(expected, ignore_case) == fold(found, ignore_case)
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(
            same(value, found[key], tolerance=tolerance, ignore_case=ignore_case)
            for key, value in expected.items()
        )
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(
            same(left, right, tolerance=tolerance, ignore_case=ignore_case)
            for left, right in zip(expected, found, strict=True)
        )
    return bool(expected is None and found is None)


def fold(value: str, ignore_case: bool) -> str:
    return value.casefold() if ignore_case else value


def _close(expected: float, found: float, tolerance: float | None) -> bool:
    if expected == found:
        return True
    try:
        if tolerance is None:
            tolerance = 1e-6 * max(1.0, abs(expected))
        return abs(expected - found) <= tolerance
    except OverflowError:  # an integer beyond a double's range
        return False


def pair(expected: Sequence[Any], found: Sequence[Any], equal: Equal) -> int:
    """The most members of ``expected`` that can each have an equal member of ``found``.

    A maximum matching, since with a tolerance or a partial row one found member may equal
    several expected ones.
    """
    owner: dict[int, int] = {}
    edges = [[j for j, right in enumerate(found) if equal(left, right)] for left in expected]

    def settle(i: int, tried: set[int]) -> bool:
        for j in edges[i]:
            if j not in owner:
                owner[j] = i
                return True
        for j in edges[i]:
            if j not in tried:
                tried.add(j)
                if settle(owner[j], tried):
                    owner[j] = i
                    return True
        return False

    return sum(settle(i, set()) for i in range(len(expected)))


def run(expected: Sequence[Any], found: Sequence[Any], equal: Equal) -> int:
    """Length of the longest run of equal members that keeps both orders, gaps allowed."""
    best = [0] * (len(found) + 1)
    for left in expected:
        previous = best[:]
        for j, right in enumerate(found, 1):
            if equal(left, right):
                best[j] = previous[j - 1] + 1
            else:
                best[j] = max(previous[j], best[j - 1])
    return best[-1]
