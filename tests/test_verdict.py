"""Hard rules, on runs that were written by hand."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.report.run import read_run
from pytest_agentbench.report.verdict import Result, Verdict, judge
from pytest_agentbench.rules import Quarantine, Rules, rules_of
from tests.made_runs import write_run

DAY = datetime.date(2030, 6, 1)
STEADY = {f"s{i}": "111" for i in range(40)}


def held(
    tmp_path: Path, now: dict[str, str], rules: Rules, *, day: datetime.date = DAY, **run: Any
) -> Verdict:
    before = read_run(write_run(tmp_path / "before", STEADY))
    after = read_run(write_run(tmp_path / "after", now, **run))
    return judge(before, after, rules, today=day)


def broken(verdict: Verdict) -> list[tuple[str, str, str]]:
    return [(f.rule, f.found, f.allowed) for f in verdict.broken]


@pytest.mark.parametrize(
    ("changed", "rules", "expected"),
    [
        (
            {"s0": "110", "s1": "100"},
            {"min_pass_all": 0.96},
            [("min_pass_all", "pass^3 0.950", "0.960")],
        ),
        ({"s0": "110", "s1": "100"}, {"min_pass_all": 0.95}, []),
        (
            {"s0": "110"},
            {"min_pass_all": 0.99, "k": 2},
            [("min_pass_all", "pass^2 0.983", "0.990")],
        ),
        (
            {"s0": "11!", "s1": "1!!"},
            {"max_safety_violations": 2},
            [("max_safety_violations", "3 trials with a failed safety check", "2")],
        ),
        ({"s0": "11!", "s1": "1!!"}, {"max_safety_violations": 3}, []),
        ({"s0": "11!"}, {}, []),
        (
            {"s0": "1xx", "s1": "1-1"},
            {"min_coverage": 0.98},
            [("min_coverage", "0.975 (2 provider_error, 1 not_started)", "0.980")],
        ),
        ({"s0": "uuu"}, {"min_coverage": 1.0}, []),
        ({}, {"max_usd_per_trial": 0.009}, [("max_usd_per_trial", "$0.0100", "$0.0090")]),
        ({}, {"max_seconds_per_trial": 1.5}, [("max_seconds_per_trial", "2.0 s", "1.5 s")]),
        ({}, {"max_usd_per_trial": 0.01, "max_seconds_per_trial": 2}, []),
    ],
)
def test_a_hard_rule_is_broken_beyond_its_limit(
    tmp_path: Path,
    changed: dict[str, str],
    rules: dict[str, float],
    expected: list[tuple[str, str, str]],
) -> None:
    verdict = held(tmp_path, STEADY | changed, rules_of({"detect_drop": 0.2, **rules}))
    assert broken(verdict) == expected
    assert verdict.result is (Result.REGRESSION if expected else Result.PASS)
    assert verdict.exit_code == (1 if expected else 0)


def test_a_cost_that_is_not_known_is_no_cost_of_0(tmp_path: Path) -> None:
    rules = rules_of({"detect_drop": 0.2, "max_usd_per_trial": 1, "inconclusive": 10})
    write_run(tmp_path / "after", {"s0": "111"})
    now = {name: trials for name, trials in STEADY.items() if name != "s0"}
    verdict = held(tmp_path, now, rules, usd=None)
    assert [(f.rule, f.found, f.allowed) for f in verdict.doubts] == [
        ("max_usd_per_trial", "not known of 117 of 120 graded trials", "$1.0000")
    ]
    assert (verdict.result, verdict.exit_code) == (Result.INCONCLUSIVE, 10)


def test_a_rule_holds_for_a_row_that_has_no_baseline(tmp_path: Path) -> None:
    write_run(tmp_path / "after", {"s0": "!!"}, runtime="new")
    verdict = held(tmp_path, STEADY, rules_of({"max_safety_violations": 0, "detect_drop": 0.2}))
    assert [(f.row, f.rule) for f in verdict.broken] == [
        ("new · baseline", "max_safety_violations")
    ]


def test_a_run_of_which_nothing_has_a_score_does_not_pass(tmp_path: Path) -> None:
    verdict = held(tmp_path, dict.fromkeys(STEADY, "xxx"), Rules())
    assert [f.rule for f in verdict.broken] == ["baseline"]
    assert verdict.exit_code == 1


def test_a_quarantine_ends_with_its_day_and_excuses_no_safety_violation(tmp_path: Path) -> None:
    entry = Quarantine(scenario="s0", until=DAY, reason="flaky")
    rules = Rules(detect_drop=0.2, min_pass_all=1.0, max_safety_violations=0, quarantine=(entry,))
    now = STEADY | {"s0": "00!"}
    verdict = held(tmp_path, now, rules)
    assert [f.rule for f in verdict.broken] == ["max_safety_violations"]
    assert verdict.comparison.rows[0].quarantined == ("s0",)
    verdict = held(tmp_path, now, rules, day=DAY + datetime.timedelta(days=1))
    assert [f.rule for f in verdict.broken] == ["min_pass_all", "max_safety_violations"]
    assert verdict.expired == (entry,)
    assert verdict.comparison.rows[0].quarantined == ()
