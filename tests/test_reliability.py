from __future__ import annotations

from fractions import Fraction as F
from itertools import combinations

import pytest

from pytest_agentbench.scoring.reliability import SuiteValue, pass_all, pass_at, suite

COUNTS = [(n, c, k) for n in range(1, 9) for c in range(n + 1) for k in range(1, n + 1)]


@pytest.mark.parametrize(
    ("n", "c", "k", "at", "all_"),
    [
        (5, 3, 1, F(3, 5), F(3, 5)),
        (5, 3, 2, F(9, 10), F(3, 10)),
        (5, 3, 3, F(1), F(1, 10)),
        (5, 3, 4, F(1), F(0)),
        (10, 1, 5, F(1, 2), F(0)),
        (10, 1, 2, F(1, 5), F(0)),
        (3, 2, 3, F(1), F(0)),
        (2, 1, 3, None, None),
        (0, 0, 1, None, None),
    ],
)
def test_golden_values(n: int, c: int, k: int, at: F | None, all_: F | None) -> None:
    assert pass_at(n, c, k) == at
    assert pass_all(n, c, k) == all_


def test_the_plug_in_estimate_is_not_what_is_given() -> None:
    assert F(2, 3) ** 3 == F(8, 27) != pass_all(3, 2, 3)


def test_both_are_the_shares_of_all_choices_of_k_trials() -> None:
    for n, c, k in COUNTS:
        choices = list(combinations([True] * c + [False] * (n - c), k))
        assert pass_at(n, c, k) == F(sum(map(any, choices)), len(choices))
        assert pass_all(n, c, k) == F(sum(map(all, choices)), len(choices))


def test_pass_all_is_below_the_pass_rate_and_pass_at_above() -> None:
    for n, c, k in COUNTS:
        below, above = pass_all(n, c, k), pass_at(n, c, k)
        assert below is not None
        assert above is not None
        assert below <= F(c, n) <= above


def test_a_thousand_trials_do_not_overflow() -> None:
    chance = pass_at(1000, 3, 500)
    assert chance is not None
    assert float(chance) == pytest.approx(0.8754, abs=1e-4)
    assert pass_all(1000, 999, 1000) == 0


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match=f"n={n}, c={c}, k={k}"):
        pass_at(n, c, k)


def test_a_suite_leaves_out_scenarios_with_too_few_trials_and_says_how_many() -> None:
    outcomes = [(3, 3), (3, 1), (2, 2), (0, 0)]
    assert suite(outcomes, 3, pass_at) == SuiteValue(value=F(1), scenarios=2, left_out=2)
    assert suite(outcomes, 3, pass_all) == SuiteValue(value=F(1, 2), scenarios=2, left_out=2)
    assert suite(outcomes, 1, pass_all) == SuiteValue(value=F(7, 9), scenarios=3, left_out=1)
    assert suite(outcomes, 4, pass_at) == SuiteValue(value=None, scenarios=0, left_out=4)
