"""Intervals: what a score could have been with other scenarios of the same kind."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, filterfalse
from math import gcd, isnan, sqrt
from operator import add, mul
from statistics import NormalDist
from typing import TypeVar

from pytest_agentbench.scoring.composite import percentile
from pytest_agentbench.scoring.draws import RESAMPLES, SEED, Column, Draws

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


#: Parts of 1 in which ``bootstrap_means`` counts: whole numbers add up alike everywhere, and these
#: hold the decimals of most scores, and the shares of up to ten trials, exactly.
UNIT = 2520 * 10**10


def bootstrap_means(
    values: Sequence[Column],
    masses: Sequence[Column],
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
    unit = gcd(*chain.from_iterable(values)) or 1  # most scores have few digits
    whole = [tuple([value // unit for value in column]) for column in values]
    if len(values) == 1 and min(masses[0]) == max(masses[0]):
        scale = Fraction(unit, size * masses[0][0])
        return _percentiles(sorted(draws.sums(whole[0])), level, size, scale=scale)
    means = [0.0] * draws.resamples
    for column, factors in zip(whole, draws.factors(masses, shares), strict=True):
        means = list(map(add, means, map(mul, draws.sums(column), factors)))
    return _percentiles(sorted(filterfalse(isnan, means)), level, size, scale=unit)


def _percentiles(
    ordered: Sequence[float], level: float, size: int, *, scale: Fraction | int = 1
) -> Interval | None:
    if not ordered:
        return None
    tail = (1 - level) / 2
    return Interval(
        low=percentile(ordered, tail, scale=scale),
        high=percentile(ordered, 1 - tail, scale=scale),
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
