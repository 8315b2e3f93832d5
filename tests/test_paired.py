"""Comparisons paired by scenario, against numbers worked out by hand or by counting everything."""

from __future__ import annotations

import random
from itertools import product

import pytest

from pytest_agentbench.record import ScenarioFacts
from pytest_agentbench.scoring import movers
from pytest_agentbench.scoring.aggregate import Outcome, ScenarioScore
from pytest_agentbench.scoring.detectable import detectable
from pytest_agentbench.scoring.intervals import Interval
from pytest_agentbench.scoring.paired import Difference, Pair, difference, mcnemar
from pytest_agentbench.scoring.signflip import lower_end, lower_tail, standard_error, upper_end


def score(name: str, scores: str | list[float], **facts: object) -> ScenarioScore:
    values = [float(s) for s in scores]
    return ScenarioScore(
        facts=ScenarioFacts(id=name, **facts),  # type: ignore[arg-type]
        outcomes=tuple(Outcome(score=s, capability=s, passed=s >= 0.6) for s in values),
    )


def pair(name: str, before: str | list[float], after: str | list[float], **facts: object) -> Pair:
    return Pair(before=score(name, before, **facts), after=score(name, after, **facts))


def counted(values: list[float]) -> float:
    """``lower_tail`` by going through all signs."""
    signs = product((1, -1), repeat=len(values))
    sums = [sum(s * v for s, v in zip(each, values, strict=True)) for each in signs]
    found = sum(values)
    below = sum(s < found - 1e-9 for s in sums)
    ties = sum(abs(s - found) < 1e-9 for s in sums)
    return (below + ties / 2) / len(sums)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], 0.5),
        ([0.0, 0.0], 0.5),
        ([-1.0], 0.25),  # half of the one way in two
        ([-1.0] * 4, 1 / 32),
        ([-1.0] * 4 + [0.0] * 9, 1 / 32),  # what did not change says nothing
        ([1.0, -1.0], 0.5),
        ([-1.0, -1.0, 1.0], (1 + 3 / 2) / 8),
        ([-2 / 3, 1 / 3], (1 + 1 / 2) / 4),
    ],
)
def test_signs_are_counted(values: list[float], expected: float) -> None:
    assert lower_tail(values) == expected == counted(values)
    assert lower_tail([-v for v in values]) == 1 - expected


def test_ties_of_pass_and_fail_are_found_among_many_scenarios() -> None:
    draw = random.Random(1)
    for _ in range(30):
        values = [draw.choice((-2, -1, -1, 0, 1, 1, 2)) / 3 for _ in range(14)]
        assert lower_tail(values) == pytest.approx(counted(values), abs=1e-12)


def test_weights_that_fit_no_grid_cost_little() -> None:
    draw = random.Random(2)
    for _ in range(30):
        values = [draw.gauss(-0.1, 1) for _ in range(13)]
        assert lower_tail(values) == pytest.approx(counted(values), abs=0.01)


def test_more_clusters_than_are_counted_agree_with_those_that_are() -> None:
    draw = random.Random(3)
    values = [draw.choice((-1, -1, 0, 0, 1)) / 3 for _ in range(120)]
    assert lower_tail(values + [0.0] * 20) == pytest.approx(lower_tail(values), abs=0.002)


def test_an_end_is_where_chance_begins_to_refuse() -> None:
    sums = [-0.101, -0.053, -0.0311, -0.0237, -0.0291, 0.0327]
    masses = [0.31, 0.12, 0.09, 0.18, 0.17, 0.13]
    low, high = lower_end(sums, masses, 0.05), upper_end(sums, masses, 0.05)
    assert low < -0.2052 < high
    within, beyond = (
        counted([s - (high + step) * m for s, m in zip(sums, masses, strict=True)])
        for step in (-1e-3, 1e-3)
    )
    assert beyond <= 0.05 < within
    # turned around, and with all twice as large
    assert upper_end([-s for s in sums], masses, 0.05) == -low
    assert upper_end([2 * s for s in sums], masses, 0.05) == pytest.approx(2 * high, abs=1e-3)


def test_a_few_scenarios_that_agree_show_nothing() -> None:
    found = difference([pair(name, "111", "000") for name in "abc"])
    assert (found.change, found.interval) == (
        -1.0,
        Interval(low=-1.0, high=1.0, level=0.9, method="sign-flip", n=3),
    )
    one = difference([pair("a", "111", "000")])
    assert (one.change, one.interval, one.clusters) == (-1.0, None, 1)


def test_scenarios_that_all_stay_the_same_are_no_proof_that_nothing_changed() -> None:
    found = difference([pair(str(i), "111", "111") for i in range(24)])
    z = 1.6448536
    assert found.interval is not None
    assert found.interval.low == pytest.approx(-(z * z) / (24 + z * z))  # Wilson, 0 of 24
    assert found.interval.high == pytest.approx(0, abs=1e-4)  # there is nothing to gain
    assert (found.change, found.p, found.error) == (0, 1, 0)


def test_a_scenario_counts_once_however_many_trials_it_has() -> None:
    found = difference([pair("a", "1111", "10"), pair("b", "0", "1"), pair("c", "11", "1")])
    assert found.before == pytest.approx(2 / 3)
    assert found.after == pytest.approx(2.5 / 3)
    assert found.change == pytest.approx(0.5 / 3)


def test_weights_are_those_of_the_overall_score() -> None:
    pairs = [
        pair("a", "1", "0", dimension="tool_use", difficulty="expert"),
        pair("b", "1", "1", dimension="tool_use", difficulty="easy"),
        pair("c", "0", "1", dimension="safety", difficulty="easy"),
    ]
    found = difference(pairs)
    weights = movers.weights([p.after for p in pairs])
    assert found.change == pytest.approx(weights[2] - weights[0])
    assert difference(pairs, plain=True).change == pytest.approx(0)


def test_a_family_is_one_cluster() -> None:
    apart = difference([pair(str(i), "111", "000") for i in range(6)])
    words = [pair(str(i), "111", "000", family="words") for i in range(5)]
    family = difference([*words, pair("x", "1", "0")])
    assert (apart.clusters, family.clusters, family.scenarios) == (6, 2, 6)
    assert apart.interval is not None
    assert family.interval is not None
    assert apart.interval.high < 0 < family.interval.high


def test_the_standard_error_is_that_of_the_mean_of_scenarios() -> None:
    changes = [-1.0, 0.0, 0.0, 1.0, -0.5]
    mean = sum(changes) / 5
    by_hand = (sum((c - mean) ** 2 for c in changes) / 4 / 5) ** 0.5
    assert standard_error([c / 5 for c in changes], [0.2] * 5) == pytest.approx(by_hand)


def test_mcnemar_is_exact() -> None:
    lost = [pair(f"l{i}", "1", "0") for i in range(6)]
    gained = [pair("g", "0", "1")]
    rest = [pair("b", "1", "1"), pair("n", "0", "0")]
    found = mcnemar(lost + gained + rest)
    assert (found.both, found.lost, found.gained, found.neither) == (1, 6, 1, 1)
    assert found.p == 2 * (1 + 7) / 2**7
    assert mcnemar(rest).p == 1.0


def test_mcnemar_counts_as_many_trials_on_both_sides() -> None:
    assert mcnemar([pair("a", "11", "110")]).both == 1
    assert mcnemar([pair("a", "111", "110")]).lost == 1


def test_holm_keeps_order_and_rises() -> None:
    assert movers.holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert movers.holm([]) == []


def test_scenarios_are_held_against_each_other() -> None:
    same = [pair(f"s{i}", "101", "110") for i in range(3)]
    moved = movers.scenarios([*same, pair("up", "0" * 6, "1" * 6), pair("down", "111", "000")])
    assert [m.name for m in moved] == ["down", "s0", "s1", "s2", "up"]
    down, up = moved[0], moved[-1]
    assert (down.p, down.adjusted, down.clear) == (2 / 20, 4 * 2 / 20, False)
    assert (up.p, up.adjusted, up.clear) == (2 / 924, 5 * 2 / 924, True)
    assert down.share == pytest.approx(-0.2)
    assert {m.p for m in moved[1:4]} == {1.0}


def test_three_trials_show_one_scenario_that_is_looked_at_alone_and_none_of_two() -> None:
    (alone,) = movers.scenarios([pair("a", "111", "000")])
    assert (alone.adjusted, alone.clear) == (0.1, True)
    assert not movers.scenarios([pair("a", "111", "000")], tail=0.049)[0].clear
    both = movers.scenarios([pair("a", "111", "000"), pair("b", "111", "000")])
    assert [(m.adjusted, m.clear) for m in both] == [(0.2, False)] * 2


def test_many_trials_are_counted_where_they_pass_or_fail_and_drawn_where_not() -> None:
    (moved,) = movers.scenarios([pair("a", "1" * 20, "0" * 20)])
    assert moved.p == 2 / 137_846_528_820  # the ways to choose 20 of 40
    (moved,) = movers.scenarios([pair("a", "1" * 20, [0.5, *[0.0] * 19])])
    assert moved.p == 1 / 10_000


@pytest.mark.parametrize(("before", "after"), [("1101", "1000"), ("11", "0001"), ("111", "0")])
def test_passes_are_counted_as_their_arrangements_are(before: str, after: str) -> None:
    (counted,) = movers.scenarios([pair("a", before, after)])
    # A third value, too close to matter, takes the other way.
    nearly = [float(c) for c in before]
    nearly[0] -= 1e-12
    (arranged,) = movers.scenarios([pair("a", nearly, after)])
    assert counted.p == pytest.approx(arranged.p)


def test_dimensions_have_intervals_of_their_own() -> None:
    down = [pair(f"d{i}", "111", "000", dimension="planning") for i in range(8)]
    same = [pair(f"s{i}", "101", "110", dimension="tool_use") for i in range(8)]
    found = {m.name: m for m in movers.dimensions(down + same)}
    assert found["planning"].clear
    assert found["planning"].adjusted == pytest.approx(2 * 2 * (1 / 2) / 2**8)
    assert not found["tool_use"].clear
    assert found["planning"].share == pytest.approx(difference(down + same).change)
    assert found["planning"].trials == (24, 24)
    assert movers.dimensions([pair("a", "1", "0")]) == ()


def a_difference(**values: object) -> Difference:
    fields = dict(before=0.5, after=0.5, change=0.0, p=1.0, error=0.05, scenarios=20, clusters=20)  # noqa: C408
    interval = Interval(low=-0.08, high=0.08, level=0.9, method="sign-flip", n=20)
    return Difference(**{"interval": interval, **fields, **values})  # type: ignore[arg-type]


def test_what_could_be_detected_and_what_it_takes() -> None:
    # no variance between scenarios: all of the error comes from trials
    pairs = [pair(str(i), [0.2, 0.8, 0.5], [0.5, 0.2, 0.8]) for i in range(20)]
    found = detectable(pairs, a_difference(error=0.05), allowed=0.02, asked=0.08)
    reach = 0.08 + 0.8416212 * 0.05
    assert found.drop == pytest.approx(0.02 + reach)
    assert found.scenarios == -(-20 * (reach / 0.06) ** 2 // 1)
    # variance of a mean of three: 0.09 / 3; of the difference 0.06; of the mean of 20: 0.003,
    # which is more than the 0.0025 that there is, so all of it
    assert found.trials == -(-3 * (reach / 0.06) ** 2 // 1)
    assert not found.enough
    assert detectable(pairs, a_difference(), asked=0.2).enough


def test_what_more_trials_cannot_do() -> None:
    # trials of a scenario agree; scenarios went up and down
    pairs = [pair(str(i), "111" if i % 2 else "000", "000" if i % 2 else "111") for i in range(20)]
    found = detectable(pairs, difference(pairs), asked=0.05)
    assert found.drop is not None
    assert found.trials is None
    assert found.scenarios is not None
    one = detectable([pair(str(i), "1", "0") for i in range(9)], a_difference(), asked=0.05)
    assert one.trials is None
    none = detectable(pairs, a_difference(error=0.0), asked=0.05)
    assert (none.drop, none.enough) == (None, False)
