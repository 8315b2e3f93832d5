from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import fmean

import pytest

from pytest_agentbench.scoring.draws import Draws
from pytest_agentbench.scoring.intervals import (
    UNIT,
    bootstrap,
    bootstrap_means,
    paired_bootstrap,
    wilson,
)


def mean(values: Sequence[float]) -> float:
    return fmean(values)


@pytest.mark.parametrize(
    ("passed", "n", "low", "high"),
    [(5, 5, 0.5655, 1.0), (0, 5, 0.0, 0.4345), (8, 10, 0.4902, 0.9433), (50, 100, 0.4038, 0.5962)],
)
def test_wilson(passed: int, n: int, low: float, high: float) -> None:
    interval = wilson(passed, n)
    assert interval is not None
    assert (interval.low, interval.high) == (
        pytest.approx(low, abs=5e-5),
        pytest.approx(high, abs=5e-5),
    )
    assert (interval.method, interval.level, interval.n) == ("wilson", 0.95, n)


def test_wilson_of_no_trials_is_unknown() -> None:
    assert wilson(0, 0) is None


def test_fewer_than_two_clusters_have_no_interval() -> None:
    assert bootstrap([], mean) is None
    assert bootstrap([0.5], mean) is None
    assert paired_bootstrap([(0.5, 0.6)], mean) is None


def test_the_bootstrap_is_near_the_normal_interval_of_many_values() -> None:
    rng = random.Random(1)
    values = [rng.random() for _ in range(400)]
    interval = bootstrap(values, mean)
    half = 1.96 * (1 / 12) ** 0.5 / 20
    assert interval is not None
    assert interval.low == pytest.approx(fmean(values) - half, abs=0.004)
    assert interval.high == pytest.approx(fmean(values) + half, abs=0.004)
    assert (interval.method, interval.n) == ("bootstrap", 400)


@pytest.mark.parametrize("digits", [1, 4, 17])
@pytest.mark.parametrize("size", [3, 40])
def test_means_over_columns_are_bootstrapped_as_anything_is(size: int, digits: int) -> None:
    """A cluster has a place in one of three columns, some weigh nothing, a column may be missing."""
    rng, shares = random.Random(digits), (0.5, 0.2, 0.3)
    column = [number % 3 for number in range(size)]
    mass = [float(number % 4) for number in range(size)]
    value = [round(rng.random(), digits) for _ in range(size)]

    def statistic(drawn: Sequence[int]) -> float | None:
        means = {}
        for place in range(3):
            inside = [n for n in drawn if column[n] == place]
            if whole := sum(mass[n] for n in inside):
                means[place] = sum(value[n] * mass[n] for n in inside) / whole
        if not means:
            return None
        return sum(shares[p] * m for p, m in means.items()) / sum(shares[p] for p in means)

    def columns(values: Sequence[float]) -> list[tuple[int, ...]]:
        parts = [round(v * UNIT) for v in values]
        return [tuple(v * (column[n] == p) for n, v in enumerate(parts)) for p in range(3)]

    weighted = [v * m for v, m in zip(value, mass, strict=True)]
    found = bootstrap_means(columns(weighted), columns(mass), shares, draws=Draws())
    expected = bootstrap(range(size), statistic)
    assert found is not None
    assert expected is not None
    assert (found.low, found.high) == (
        pytest.approx(expected.low, abs=1e-12),
        pytest.approx(expected.high, abs=1e-12),
    )


def test_the_same_clusters_give_the_same_interval_and_another_seed_another() -> None:
    values = [n / 20 for n in range(20)]
    assert bootstrap(values, mean) == bootstrap(values, mean)
    assert bootstrap(values, mean) != bootstrap(values, mean, seed=1)


def test_clusters_are_drawn_whole() -> None:
    scenarios = [0.0] * 10 + [1.0] * 10
    families = [scenarios[:10], scenarios[10:]]
    alone = bootstrap(scenarios, mean)
    together = bootstrap(families, lambda drawn: fmean(x for family in drawn for x in family))
    assert alone is not None
    assert together is not None
    assert alone.low > 0.2
    assert (together.low, together.high) == (0.0, 1.0)


def test_resamples_without_a_value_are_left_out() -> None:
    def of_ones(values: Sequence[float]) -> float | None:
        return 1.0 if 1.0 in values else None

    interval = bootstrap([0.0, 1.0], of_ones)
    assert interval is not None
    assert (interval.low, interval.high) == (1.0, 1.0)
    assert bootstrap([0.0, 0.0], of_ones) is None


def test_pairing_cancels_what_makes_scenarios_hard() -> None:
    before = [n / 20 for n in range(20)]
    pairs = [(x, x + 0.1) for x in before]
    paired = paired_bootstrap(pairs, mean)
    assert paired is not None
    assert paired.low == pytest.approx(0.1)
    assert paired.high == pytest.approx(0.1)
