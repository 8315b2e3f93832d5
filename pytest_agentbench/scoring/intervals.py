"""Intervals: what a score could have been with other scenarios of the same kind."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from operator import itemgetter
from statistics import NormalDist
from typing import Any, TypeVar

from pytest_agentbench.scoring.composite import percentile

SEED = 20261130
RESAMPLES = 2_000
LEVEL = 0.95

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A two-sided interval; ``method`` is ``wilson``, ``bootstrap`` or ``sign-flip``, ``n`` its units."""

    low: float
    high: float
    level: float
    method: str
    n: float


def wilson(passed: float, n: float, *, level: float = LEVEL) -> Interval | None:
    """The Wilson score interval of a proportion; None without trials.

    It also bounds the mean of ``n`` values in [0, 1] that sum to ``passed``: no such values
    vary more than zeros and ones of the same mean do.
    """
    if n <= 0:
        return None
    z = NormalDist().inv_cdf((1 + level) / 2)
    p = passed / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return Interval(
        low=0.0 if passed <= 0 else max(0.0, centre - half),
        high=1.0 if passed >= n else min(1.0, centre + half),
        level=level,
        method="wilson",
        n=n,
    )


def bootstrap(
    clusters: Sequence[T],
    statistic: Callable[[Sequence[T]], float | None],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """Percentile interval of ``statistic`` over resampled ``clusters``; None below two of them.

    A cluster is drawn whole: trials of one scenario, or scenarios of one family, are not
    independent. Resamples for which the statistic is None are left out. The same clusters in
    the same order give the same interval.
    """
    if len(clusters) < 2:
        return None
    draw = random.Random(seed).choices
    size = len(clusters)
    drawn = (statistic(draw(clusters, k=size)) for _ in range(resamples))
    return _percentiles(sorted(value for value in drawn if value is not None), level, size)


#: Parts of 1 in which ``bootstrap_sums`` counts: whole numbers add up alike everywhere.
UNIT = 1 << 44
#: Draws that are kept: resamples times clusters.
_KEPT = 4_000_000


@dataclass(slots=True, kw_only=True)
class Draws:
    """The resamples of ``size`` clusters, as ``bootstrap`` draws them, for many intervals."""

    resamples: int = RESAMPLES
    seed: int = SEED
    _kept: dict[int, tuple[itemgetter[Any], ...]] = field(default_factory=dict)

    def of(self, size: int) -> Iterable[itemgetter[Any]]:
        """Of each resample what takes the drawn of ``size`` values, at least two of them."""
        if size * self.resamples > _KEPT:
            return self._draw(size)
        if size not in self._kept:
            self._kept.clear()
            self._kept[size] = tuple(self._draw(size))
        return self._kept[size]

    def _draw(self, size: int) -> Iterable[itemgetter[Any]]:
        choices = random.Random(self.seed).choices
        places = range(size)
        return (itemgetter(*choices(places, k=size)) for _ in range(self.resamples))


def bootstrap_sums(
    columns: Sequence[Sequence[int]],
    statistic: Callable[[Sequence[int]], float | None],
    *,
    draws: Draws,
    level: float = LEVEL,
) -> Interval | None:
    """``bootstrap`` of a statistic of sums: one value a cluster in each column, none below 0.

    ``statistic`` is given the sum of each column. The columns of a cluster are added as one
    large number, each in bits of its own, which takes a tenth of the time.
    """
    size = len(columns[0])
    if size < 2:
        return None
    sums = [size * column[0] for column in columns]
    varied = [place for place, column in enumerate(columns) if min(column) < max(column)]
    bits = max((size * max(columns[place]) for place in varied), default=0).bit_length()
    shifts = [(place, number * bits) for number, place in enumerate(varied)]
    mask = (1 << bits) - 1
    packed = [
        sum(row[place] << shift for place, shift in shifts) for row in zip(*columns, strict=True)
    ]
    values = []
    for draw in draws.of(size):
        total = sum(draw(packed))
        for place, shift in shifts:
            sums[place] = total >> shift & mask
        value = statistic(sums)
        if value is not None:
            values.append(value)
    return _percentiles(sorted(values), level, size)


def _percentiles(ordered: Sequence[float], level: float, size: int) -> Interval | None:
    if not ordered:
        return None
    tail = (1 - level) / 2
    return Interval(
        low=percentile(ordered, tail),
        high=percentile(ordered, 1 - tail),
        level=level,
        method="bootstrap",
        n=size,
    )


def paired_bootstrap(
    clusters: Sequence[tuple[T, T]],
    statistic: Callable[[Sequence[T]], float | None],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """Interval of statistic(after) − statistic(before) over clusters (before, after).

    Both sides of a cluster are drawn together, so that what makes a scenario hard cancels out.
    """

    def difference(pairs: Sequence[tuple[T, T]]) -> float | None:
        before = statistic([pair[0] for pair in pairs])
        after = statistic([pair[1] for pair in pairs])
        return None if before is None or after is None else after - before

    return bootstrap(clusters, difference, level=level, resamples=resamples, seed=seed)
