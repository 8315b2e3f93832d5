"""How alike two series rank the same things."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import StatisticsError, correlation

from pytest_agentbench.scoring.intervals import Interval, bootstrap

#: Below this, a coefficient says nothing: two points are always on one line.
LEAST = 3


def ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1 for the largest; equal values have the mean of their ranks."""
    order = sorted(values, reverse=True)
    place: dict[float, float] = {}
    for value in order:
        if value not in place:
            first = order.index(value) + 1
            place[value] = first + (order.count(value) - 1) / 2
    return [place[value] for value in values]


def pearson(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's r; None below ``LEAST`` pairs, and where one side is all the same."""
    if len(pairs) < LEAST:
        return None
    try:
        found = correlation([x for x, _ in pairs], [y for _, y in pairs])
    except StatisticsError:
        return None
    return max(-1.0, min(1.0, found))


def spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's rho with average ranks: Pearson's r of the ranks."""
    left, right = (ranks([pair[side] for pair in pairs]) for side in (0, 1))
    return pearson(list(zip(left, right, strict=True)))


def with_interval(
    pairs: Sequence[tuple[float, float]],
    coefficient: Callable[[Sequence[tuple[float, float]]], float | None],
) -> tuple[float | None, Interval | None]:
    """A coefficient, and its bootstrap interval over resampled pairs."""
    value = coefficient(pairs)
    return value, bootstrap(pairs, coefficient) if value is not None else None
