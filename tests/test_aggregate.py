from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from pytest_agentbench.record import ScenarioFacts
from pytest_agentbench.scoring.aggregate import (
    Outcome,
    ScenarioScore,
    aggregate,
    final,
    weighted,
    weights,
)
from pytest_agentbench.scoring.clusters import Clusters
from pytest_agentbench.scoring.composite import statistics
from pytest_agentbench.scoring.reliability import pass_all, pass_at, suite

VECTORS = [
    vector
    for line in (Path(__file__).parent / "data/composite_scoring.jsonl").read_text().splitlines()
    if (vector := json.loads(line))["kind"] == "aggregate"
]


def scored(
    name: str,
    trials: list[list[float]],
    dimension: str = "",
    difficulty: str = "easy",
    weight: float = 1.0,
    family: str = "",
) -> ScenarioScore:
    return ScenarioScore(
        facts=ScenarioFacts(
            id=name, dimension=dimension, difficulty=difficulty, weight=weight, family=family
        ),
        outcomes=tuple(Outcome(score=s, capability=c, passed=bool(p)) for s, c, p in trials),
    )


def of(vector: dict[str, Any]) -> list[ScenarioScore]:
    return [scored(name, trials, *facts) for name, *facts, trials in vector["spec"]]


PUBLISHED = pytest.mark.parametrize("vector", VECTORS, ids=["four", "one", "six"])


@PUBLISHED
def test_scenarios_as_published(vector: dict[str, Any]) -> None:
    for scenario in of(vector):
        assert vector["result"]["scenarios"][scenario.facts.id] == {
            "avg": round(scenario.mean("score"), 4),
            "max": max(o.score for o in scenario.outcomes),
            "cap": round(scenario.mean("capability"), 4),
            "pass_rate": round(scenario.mean("passed"), 4),
            "any": scenario.any_passed,
            "all": scenario.all_passed,
            "consistency": round(scenario.spread, 6),
            "difficulty_weight": scenario.weight,
        }


@PUBLISHED
def test_dimensions_and_overall_as_published(vector: dict[str, Any]) -> None:
    overall = aggregate(of(vector), digits=4)
    result = vector["result"]
    assert {
        d.name: (
            d.score,
            d.capability,
            d.scenarios,
            d.pass_at_1,
            d.any_passed,
            d.all_passed,
        )
        for d in overall.dimensions
    } == {
        name: (
            d["score"],
            d["capability_score"],
            d["scenario_count"],
            d["pass_at_1"],
            d["pass_at_k_any"],
            d["strict_pass_rate"],
        )
        for name, d in result["dimensions"].items()
    }
    assert overall.score_of_all == result["overall"]
    assert overall.capability_of_all == result["capability"]
    assert overall.covered == result["coverage"]["covered_weight"]
    assert overall.score == result["coverage"]["normalized_score_on_covered"]
    assert overall.capability == result["norm_cap"]
    assert overall.subset == bool(result["coverage"]["missing_dimensions"])


@PUBLISHED
def test_reliability_as_published(vector: dict[str, Any]) -> None:
    scenarios, expected = of(vector), vector["result"]["reliability"]
    views = {
        "1": [round(s.mean("passed"), 4) for s in scenarios],
        "k_any": [float(s.any_passed) for s in scenarios],
        "k_all": [float(s.all_passed) for s in scenarios],
    }
    for name, values in views.items():
        assert round(fmean(values), 4) == expected[f"unweighted_pass_at_{name}"]
        assert round(weighted(scenarios, values), 4) == expected[f"weighted_pass_at_{name}"]
    spread = statistics([round(s.spread, 6) for s in scenarios])
    assert (spread.avg, spread.p95) == (
        expected["avg_score_stddev"],
        expected["p95_score_stddev"],
    )


@PUBLISHED
def test_with_three_trials_any_and_all_are_the_unbiased_estimates(vector: dict[str, Any]) -> None:
    counts = [s.count("passed") for s in of(vector)]
    expected = vector["result"]["reliability"]
    for estimator, name in ((pass_at, "any"), (pass_all, "all")):
        value = suite(counts, 3, estimator).value
        assert value is not None
        assert round(float(value), 4) == expected[f"unweighted_pass_at_k_{name}"]


@PUBLISHED
def test_without_rounding_the_score_is_the_weighted_mean(vector: dict[str, Any]) -> None:
    scenarios = of(vector)
    assert sum(weights(scenarios)) == pytest.approx(1.0)
    assert aggregate(scenarios).score == pytest.approx(
        weighted(scenarios, [s.mean("score") for s in scenarios])
    )


def test_final_is_for_three_trials_over_a_whole_profile() -> None:
    full = of(VECTORS[2])
    assert final(full, whole_profile=True) == pytest.approx(
        0.5241**0.40 * (0.1618 ** (1 / 3)) ** 0.45 * (1 - 0.15 ** (1 / 3)) ** 0.15, abs=1e-4
    )
    assert final(full, whole_profile=False) is None
    two = scored("x", [[1, 1, 1], [1, 1, 1]], "safety")
    assert final([*full, two], whole_profile=True) is None
    perfect = [scored(d, [[1, 1, 1]] * 3, d) for d in ("safety", "planning")]
    perfect += [scored(d, [[1, 1, 1]] * 3, d) for d in ("tool_use", "synthesis", "constraints")]
    perfect += [scored("e", [[1, 1, 1]] * 3, "error_recovery")]
    assert final(perfect, whole_profile=True) == pytest.approx(1.0)


def test_scenarios_without_a_dimension_are_a_plain_mean() -> None:
    scenarios = [
        scored("a", [[1, 1, 1]], difficulty="expert", weight=2.0),
        scored("b", [[0.5, 0.6, 0], [0.0, 0.2, 0]]),
        scored("c", [[0.5, 0.5, 0]], "safety"),
    ]
    overall = aggregate(scenarios)
    assert overall.score == overall.score_of_all == pytest.approx((1 + 0.25 + 0.5) / 3)
    assert overall.capability == pytest.approx((1 + 0.4 + 0.5) / 3)
    assert (overall.by_dimension, overall.covered, overall.subset) == (False, 1.0, False)
    assert [d.name for d in overall.dimensions] == ["safety"]
    assert weights(scenarios) == (1 / 3, 1 / 3, 1 / 3)


def test_scenarios_of_weight_zero_do_not_divide_by_it() -> None:
    scenarios = [scored(n, [[x, x, 0]], "safety", weight=0.0) for n, x in (("a", 1.0), ("b", 0.0))]
    assert aggregate(scenarios).score == 0.5
    assert weighted(scenarios, [1.0, 0.0]) == 0.5


def test_an_interval_holds_its_score_and_is_stable() -> None:
    scenarios = of(VECTORS[2])
    values = [s.mean("score") for s in scenarios]
    found = Clusters.of(scenarios).interval(values)
    assert found is not None
    assert found.low < aggregate(scenarios).score < found.high
    assert found == Clusters.of(scenarios).interval(values)
    assert found != Clusters.of(scenarios, plain=True).interval(values)
    assert (found.method, found.n) == ("bootstrap", 7)


def test_a_family_is_one_cluster() -> None:
    alone = [scored(str(n), [[n % 2, 0, 0]]) for n in range(10)]
    values = [s.mean("score") for s in alone]
    family = [scored(str(n), [[n % 2, 0, 0]], family="ab"[n % 2]) for n in range(10)]
    one = [scored(str(n), [[n % 2, 0, 0]], family="a") for n in range(10)]
    narrow, wide = Clusters.of(alone).interval(values), Clusters.of(family).interval(values)
    assert narrow is not None
    assert wide is not None
    assert (narrow.method, narrow.n) == ("wilson", 10)
    assert (wide.method, wide.low, wide.high) == ("bootstrap", 0.0, 1.0)
    assert Clusters.of(one).interval(values) is None


def test_values_that_do_not_vary_are_no_certainty() -> None:
    same = [scored(str(n), [[1, 1, 1]], "safety") for n in range(5)]
    found = Clusters.of(same).interval([1.0] * 5)
    assert found is not None
    assert found.method == "wilson"
    assert (found.low, found.high) == (pytest.approx(0.5655, abs=1e-4), 1.0)
    lopsided = [scored("x", [[1, 1, 1]], "safety", "expert", 2.0), *same]
    wider = Clusters.of(lopsided).interval([1.0] * 6)
    assert wider is not None
    assert wider.low < 0.5
