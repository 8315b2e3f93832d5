"""Intervals: what a score could have been with other scenarios of the same kind."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import fsum, sqrt
from operator import itemgetter, mul
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


#: Parts of 1 in which ``bootstrap_means`` counts: whole numbers add up alike everywhere.
UNIT = 1 << 44
#: Draws that are kept: resamples times clusters.
_KEPT = 4_000_000

Columns = tuple[tuple[int, ...], ...]


@dataclass(slots=True, kw_only=True)
class Draws:
    """The resamples of clusters as ``bootstrap`` draws them, for the intervals of many rows."""

    resamples: int = RESAMPLES
    seed: int = SEED
    _kept: dict[int, tuple[itemgetter[Any], ...]] = field(default_factory=dict)
    _factors: dict[Any, list[list[float]]] = field(default_factory=dict)

    def of(self, size: int) -> Iterable[itemgetter[Any]]:
        """Of each resample what takes the drawn of ``size`` values, at least two of them."""
        if size * self.resamples > _KEPT:
            return self._draw(size)
        if size not in self._kept:
            self._kept.clear()
            self._kept[size] = tuple(self._draw(size))
        return self._kept[size]

    def factors(self, masses: Columns, shares: tuple[float, ...]) -> list[list[float]]:
        """Of each resample what the sum of each column of values is multiplied by.

        The mean over the columns that were drawn at all, with their ``shares``, is then the sum
        of the products. Rows of one suite have the same ``masses``.
        """
        place = (masses, shares)
        if place not in self._factors:
            self._factors.clear()
            self._factors[place] = [
                _factors(totals, shares) for totals in _totals(masses, self.of(len(masses[0])))
            ]
        return self._factors[place]

    def _draw(self, size: int) -> Iterable[itemgetter[Any]]:
        choices = random.Random(self.seed).choices
        places = range(size)
        return (itemgetter(*choices(places, k=size)) for _ in range(self.resamples))


def bootstrap_means(
    values: Columns,
    masses: Columns,
    shares: tuple[float, ...],
    *,
    draws: Draws,
    level: float = LEVEL,
) -> Interval | None:
    """``bootstrap`` of a weighted mean over columns, each itself a weighted mean of clusters.

    A column has of each cluster a value times its mass, and that mass, both in ``UNIT`` and not
    below 0; ``shares`` are the weights of the columns.
    """
    size = len(values[0])
    if size < 2:
        return None
    if len(values) == 1 and min(masses[0]) == max(masses[0]):
        sums = [sum(draw(values[0])) for draw in draws.of(size)]
        whole = size * masses[0][0]
        means = [total / whole for total in sums]
    else:
        factors = draws.factors(masses, shares)
        sums_of = _totals(values, draws.of(size))
        means = [fsum(map(mul, *pair)) for pair in zip(sums_of, factors, strict=True) if pair[1]]
    return _percentiles(sorted(means), level, size)


def _totals(columns: Columns, draws: Iterable[itemgetter[Any]]) -> Iterator[list[int]]:
    """The sums of the columns, resample by resample.

    The numbers of a cluster are added as one large number, each in bits of its own, in a part of
    the time.
    """
    bits = max(len(column) * max(column) for column in columns).bit_length()
    shifts = [number * bits for number in range(len(columns))]
    mask = (1 << bits) - 1
    packed = [
        sum(value << shift for value, shift in zip(row, shifts, strict=True))
        for row in zip(*columns, strict=True)
    ]
    for draw in draws:
        total = sum(draw(packed))
        yield [total >> shift & mask for shift in shifts]


def _factors(masses: Sequence[int], shares: Sequence[float]) -> list[float]:
    """Empty where no column was drawn."""
    covered = fsum(share for share, mass in zip(shares, masses, strict=True) if mass)
    if not covered:
        return []
    return [
        share / covered / mass if mass else 0.0 for share, mass in zip(shares, masses, strict=True)
    ]


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
