"""Estimates of reliability from repeated trials, exact: integers in, fractions out."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import comb, lcm

Estimator = Callable[[int, int, int], Fraction | None]


@functools.lru_cache(maxsize=4096)  # scenarios of a suite mostly have as many trials
def pass_at(n: int, c: int, k: int) -> Fraction | None:
    """pass@k: the chance that at least one of ``k`` fresh trials passes; None when k > n.

    ``c`` of ``n`` trials passed. Unbiased: 1 − C(n−c, k) / C(n, k) (Chen et al. 2021).
    """
    _check(n, c, k)
    return None if k > n else 1 - Fraction(comb(n - c, k), comb(n, k))


@functools.lru_cache(maxsize=4096)
def pass_all(n: int, c: int, k: int) -> Fraction | None:
    """pass^k: the chance that ``k`` fresh trials all pass; None when k > n.

    Unbiased: C(c, k) / C(n, k) (Yao et al. 2024, tau-bench).
    """
    _check(n, c, k)
    return None if k > n else Fraction(comb(c, k), comb(n, k))


def _check(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and k >= 1):
        raise ValueError(f"needs 0 <= c <= n and k >= 1, got n={n}, c={c}, k={k}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteValue:
    """The mean of an estimate over ``scenarios``; ``left_out`` had fewer than k trials.

    ``value`` is None when every scenario was left out.
    """

    value: Fraction | None
    scenarios: int
    left_out: int


def suite(outcomes: Iterable[tuple[int, int]], k: int, estimator: Estimator) -> SuiteValue:
    """The mean of ``estimator`` over scenarios, given (trials, passed trials) of each."""
    times = Counter(outcomes)
    values = [(estimator(n, c, k), number) for (n, c), number in times.items()]
    known = [(value, number) for value, number in values if value is not None]
    scenarios = sum(number for _, number in known)
    # In whole numbers over one denominator: fractions are cancelled at each step.
    below = lcm(*(value.denominator for value, _ in known))
    above = sum(value.numerator * number * (below // value.denominator) for value, number in known)
    return SuiteValue(
        value=Fraction(above, below * scenarios) if scenarios else None,
        scenarios=scenarios,
        left_out=times.total() - scenarios,
    )
