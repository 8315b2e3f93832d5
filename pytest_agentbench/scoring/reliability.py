"""Estimates of reliability from repeated trials, exact: integers in, fractions out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import comb

Estimator = Callable[[int, int, int], Fraction | None]


def pass_at(n: int, c: int, k: int) -> Fraction | None:
    """pass@k: the chance that at least one of ``k`` fresh trials passes; None when k > n.

    ``c`` of ``n`` trials passed. Unbiased: 1 − C(n−c, k) / C(n, k) (Chen et al. 2021).
    """
    _check(n, c, k)
    return None if k > n else 1 - Fraction(comb(n - c, k), comb(n, k))


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
    total, scenarios, left_out = Fraction(), 0, 0
    for (n, c), times in Counter(outcomes).items():
        value = estimator(n, c, k)
        if value is None:
            left_out += times
        else:
            total += value * times
            scenarios += times
    return SuiteValue(
        value=total / scenarios if scenarios else None, scenarios=scenarios, left_out=left_out
    )
