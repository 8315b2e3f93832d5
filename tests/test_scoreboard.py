from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Attempt, Usage
from pytest_agentbench.flag import Flag
from pytest_agentbench.grade import CheckResult, Grade
from pytest_agentbench.record import PlannedTrial, Record, ScenarioFacts
from pytest_agentbench.report.json_report import build
from pytest_agentbench.report.ledger import Ledger, read
from pytest_agentbench.report.plan import Plan, read_plan, write_json, write_plan
from pytest_agentbench.report.row import Row
from pytest_agentbench.report.scoreboard import scoreboard
from pytest_agentbench.report.table import columns
from pytest_agentbench.report.terminal_text import render
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.scoring.losses import losses
from pytest_agentbench.scoring.trial import score_trial
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Event, EventKind, Trace

SHARES = {
    "tool_use": 0.20,
    "planning": 0.20,
    "constraints": 0.15,
    "error_recovery": 0.15,
    "synthesis": 0.15,
    "safety": 0.15,
}
FACTORS = {"easy": 1, "medium": 2, "hard": 4, "expert": 8}


def planned(facts: ScenarioFacts, index: int, runtime: str = "r", **values: Any) -> PlannedTrial:
    return PlannedTrial(
        key=f"{runtime}/{facts.policy}/{facts.id}/{index}",
        node_id=f"{facts.id}.yaml::{facts.id}[{runtime}-baseline-t{index}]",
        scenario=facts,
        runtime=runtime,
        adapter=runtime,
        model="",
        mode="baseline",
        index=index,
        **values,
    )


def ended(trial: PlannedTrial, status: Status = Status.COMPLETED, **values: Any) -> Record:
    return trial.end(status, **values)


def grade(score: float, threshold: float = 0.6, **values: Any) -> Grade:
    values = {"capability": score, "passed": score >= threshold} | values
    return Grade(policy="composite", threshold=threshold, score=score, **values)


def board(trials: Sequence[PlannedTrial], records: Sequence[Record], **values: Any) -> list[Row]:
    by_key = {record.key: record for record in records}
    return list(scoreboard(Plan(trials=tuple(trials)), by_key, **values).rows)


# --- An independent computation, on random ledgers ------------------------------------------


def random_run(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    dims = rng.sample(list(SHARES), rng.randint(1, 6))
    facts = [
        ScenarioFacts(
            id=f"s{n}",
            dimension=rng.choice(dims) if policy == "composite" else "",
            difficulty=rng.choice(list(FACTORS)),
            weight=rng.choice([1.0, 1.5, 2.0]),
            policy=policy,
            family=rng.choice(["", "", "f"]),
        )
        for n, policy in enumerate(rng.choices(["composite", "mean"], [3, 1], k=9))
    ]
    trials = [
        planned(f, index, runtime)
        for runtime, f in product(("a", "b"), facts)
        for index in range(1, rng.randint(1, 4) + 1)
    ]
    write_plan(folder / "plan.json", trials)
    ledger = Ledger(folder / "ledger.jsonl")
    ungraded = [s for s in Status if not s.policy.graded]
    for trial in rng.sample(trials, len(trials)):
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            status = rng.choice(ungraded) if rng.random() < 0.25 else Status.COMPLETED
            known = rng.random() < 0.7
            ledger.append(
                ended(
                    trial,
                    status,
                    grade=random_grade(rng) if status is Status.COMPLETED else None,
                    steps=rng.randint(0, 9),
                    tool_calls=rng.randint(0, 9),
                    seconds=rng.random(),
                    usage=Usage(input_tokens=rng.randint(1, 99), output_tokens=0)
                    if known
                    else Usage(),
                ).to_json()
            )


def random_grade(rng: random.Random) -> Grade:
    score = rng.choice([0.0, 1.0, round(rng.random(), 4)])
    return grade(
        score,
        capability=min(1.0, score + 0.1),
        strict=score == 1.0,
        loose=rng.choice([score, 0.5]),
    )


def independent(lines: list[dict[str, Any]], plan: dict[str, Any], row: Row) -> dict[str, Any]:
    """The figures of ``row`` again, from the files, by the definitions."""
    last: dict[str, dict[str, Any]] = {}
    for line in lines:
        if line["grade"] or not last.get(line["key"], {}).get("grade"):
            last[line["key"]] = line
    mine = [
        t
        for t in plan["trials"]
        if (t["runtime"], t["scenario"]["policy"]) == (row.runtime, row.policy)
    ]
    supported = [t for t in mine if last.get(t["key"], {}).get("status") != "unsupported"]
    by_id: dict[str, list[dict[str, Any] | None]] = {}
    facts = {t["scenario"]["id"]: t["scenario"] for t in supported}
    for t in supported:
        by_id.setdefault(t["scenario"]["id"], []).append(last.get(t["key"], {}).get("grade"))

    def over(values: Mapping[str, float]) -> float | None:
        if not values:
            return None
        if row.policy == "mean":
            return sum(values.values()) / len(values)
        num = den = 0.0
        for dim, share in SHARES.items():
            ids = [i for i in values if facts[i]["dimension"] == dim]
            mass = {i: facts[i]["weight"] * FACTORS[facts[i]["difficulty"]] for i in ids}
            if ids:
                num += share * sum(values[i] * mass[i] for i in ids) / sum(mass.values())
                den += share
        return num / den

    def means(field: str, lost: float | None = None) -> dict[str, float]:
        found = {}
        for i, grades in by_id.items():
            values = [g[field] if g else lost for g in grades]
            if known := [float(v) for v in values if v is not None]:
                found[i] = sum(known) / len(known)
        return found

    def chance(field: str, k: int, rule: Any) -> float | None:
        values = []
        for grades in by_id.values():
            choices = list(combinations([g[field] for g in grades if g], k))
            if choices:
                values.append(sum(map(rule, choices)) / len(choices))
        return sum(values) / len(values) if values else None

    graded = [last[t["key"]] for t in supported if last.get(t["key"], {}).get("grade")]
    tokens = [r["usage"]["input_tokens"] for r in graded if r["usage"]["input_tokens"]]
    ks = range(1, max(map(len, by_id.values()), default=0) + 1) if graded else ()

    def plain(values: Mapping[str, float]) -> float | None:
        return sum(values.values()) / len(values) if values else None

    return {
        "planned": len(mine),
        "graded": len(graded),
        "unsupported": len(mine) - len(supported),
        "coverage": len(graded) / len(supported) if supported else None,
        "score": over(means("score")),
        "capability": over(means("capability")),
        "lower": over(means("score", lost=0.0)),
        "strict": plain(means("strict")),
        "loose": plain(means("loose")),
        "pass_at": {k: chance("passed", k, any) for k in ks},
        "pass_all": {k: chance("passed", k, all) for k in ks},
        "strict_all": {k: chance("strict", k, all) for k in ks},
        "any": plain({i: any(g["passed"] for g in gs if g) for i, gs in by_id.items() if any(gs)}),
        "all": plain({i: all(g["passed"] for g in gs if g) for i, gs in by_id.items() if any(gs)}),
        "tokens": sum(tokens) / len(tokens) if tokens else None,
        "steps": sum(r["steps"] for r in graded) / len(graded) if graded else None,
    }


@pytest.mark.parametrize("seed", range(20))
def test_an_independent_computation_agrees(seed: int, tmp_path: Path) -> None:
    random_run(seed, tmp_path)
    view = read(tmp_path / "ledger.jsonl")
    rows = scoreboard(read_plan(tmp_path / "plan.json"), view.records).rows
    lines = [json.loads(x) for x in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert {(r.runtime, r.policy) for r in rows} == {
        (t["runtime"], t["scenario"]["policy"]) for t in plan["trials"]
    }
    for row in rows:
        found = {
            "planned": row.planned,
            "graded": row.graded,
            "unsupported": row.unsupported,
            "coverage": row.coverage,
            "score": row.score,
            "capability": row.capability,
            "lower": row.lower,
            "strict": row.strict,
            "loose": row.loose,
            "any": row.any_passed.value,
            "all": row.all_passed.value,
            "tokens": row.tokens.mean,
            "steps": row.steps.mean,
        }
        expected = independent(lines, plan, row)
        for name in ("pass_at", "pass_all", "strict_all"):
            estimates = {k: e.value for k, e in getattr(row, name).items()}
            assert estimates == pytest.approx(expected.pop(name)), name
        assert found == pytest.approx(expected)
        assert sum(row.statuses.values()) == row.planned


@pytest.mark.parametrize("seed", range(3))
def test_the_same_ledger_gives_the_same_report_to_the_byte(seed: int, tmp_path: Path) -> None:
    random_run(seed, tmp_path)
    for name in ("one.json", "two.json"):
        plan = read_plan(tmp_path / "plan.json")
        records = read(tmp_path / "ledger.jsonl").records
        write_json(tmp_path / name, build(scoreboard(plan, records), plan, records))
    one, two = ((tmp_path / name).read_bytes() for name in ("one.json", "two.json"))
    assert one == two
    report = json.loads(one)
    assert report["schema"] == "1.0"
    assert len(report["trials"]) == len(plan.trials)
    assert report["intervals"] == {"level": 0.95, "resamples": 2000, "seed": 20261130}


# --- Single rules -----------------------------------------------------------------------------

A = ScenarioFacts(id="a", dimension="safety")
B = ScenarioFacts(id="b", dimension="planning", difficulty="hard")


def test_a_fault_is_no_zero_but_lowers_coverage_and_bound() -> None:
    trials = [planned(A, 1), planned(A, 2), planned(A, 3), planned(A, 4)]
    [row] = board(
        trials,
        [
            ended(trials[0], grade=grade(0.8)),
            ended(trials[1], Status.PROVIDER_ERROR, message="503"),
            ended(trials[2], Status.UNSUPPORTED, message="needs browser"),
        ],
    )
    assert (row.score, row.coverage) == (0.8, pytest.approx(1 / 3))
    assert row.lower == pytest.approx(0.8 / 3)
    assert row.statuses == {
        "completed": 1,
        "provider_error": 1,
        "not_started": 1,
        "unsupported": 1,
    }
    assert [(f.status, f.counts, f.times, f.message) for f in row.faults] == [
        ("provider_error", "infrastructure", 1, "503"),
        ("not_started", "not run", 1, ""),
        ("unsupported", "skip", 1, "needs browser"),
    ]
    assert row.labels == ("incomplete", "subset")


def test_nothing_graded_has_no_score() -> None:
    trials = [planned(A, 1)]
    [row] = board(trials, [ended(trials[0], Status.AUTH_ERROR)])
    assert (row.score, row.interval, row.capability, row.lower, row.coverage) == (
        None,
        None,
        None,
        0.0,
        0.0,
    )
    [row] = board(trials, [ended(trials[0], Status.UNSUPPORTED)])
    assert (row.score, row.lower, row.coverage, row.supported) == (None, None, None, 0)


def test_pass_at_k_beyond_the_trials_is_undefined_and_says_what_is_left_out() -> None:
    trials = [planned(A, 1), planned(A, 2), planned(B, 1), planned(B, 2)]
    records = [ended(t, grade=grade(1.0)) for t in trials[:3]]
    [row] = board(trials, records, k_values=[1, 2, 5])
    shown = {k: (e.value, e.scenarios, e.left_out) for k, e in row.pass_at.items()}
    assert shown == {1: (1.0, 2, 0), 2: (1.0, 1, 1), 5: (None, 0, 2)}


@pytest.mark.parametrize(
    ("change", "labels"),
    [
        ({}, ("clean", "subset")),
        (
            {"attempts": (Attempt(status=Status.PROVIDER_ERROR, message="", seconds=1),)},
            ("clean_after_rerun", "subset"),
        ),
        ({"lock": {"timeout_multiplier": "2.0"}}, ("clean", "subset", "non-standard limits")),
        ({"lock": {"timeout_floor": "60.0"}}, ("clean", "subset", "non-standard limits")),
        ({"flags": (Flag.IMPORTED, Flag.RERUN)}, ("tuned", "subset", "imported")),
    ],
)
def test_labels(change: dict[str, Any], labels: tuple[str, ...]) -> None:
    trial = planned(A, 1)
    [row] = board([trial], [ended(trial, grade=grade(1.0), **change)])
    assert row.labels == labels


def test_all_dimensions_are_no_subset_and_give_a_final_for_a_whole_profile() -> None:
    trials = [planned(ScenarioFacts(id=d, dimension=d), n) for d in SHARES for n in (1, 2, 3)]
    records = {t.key: ended(t, grade=grade(0.8)) for t in trials}
    [row] = scoreboard(Plan(trials=tuple(trials), profile="full"), records).rows
    assert row.labels == ("clean",)
    assert row.final == pytest.approx(0.8**0.4)
    [row] = scoreboard(Plan(trials=tuple(trials)), records).rows
    assert row.final is None


def test_policies_and_modes_are_rows_of_their_own() -> None:
    mean = dataclasses.replace(A, policy="mean", dimension="")
    trials = [
        planned(A, 1),
        planned(mean, 1),
        dataclasses.replace(planned(A, 1), mode="x", key="x"),
    ]
    assert [(r.mode, r.policy) for r in board(trials, [])] == [
        ("baseline", "composite"),
        ("baseline", "mean"),
        ("x", "composite"),
    ]


def test_records_that_are_not_planned_count_nowhere_but_are_counted() -> None:
    trial, other = planned(A, 1), planned(B, 1)
    found = scoreboard(Plan(trials=(trial,)), {other.key: ended(other, grade=grade(1.0))})
    assert (found.strays, found.rows[0].graded) == (1, 0)


def test_a_reported_flag_counts_once_a_trial() -> None:
    check = CheckResult(
        id="c", type="python", points=1, earned=0, passed=False, flags=("checker_crashed",)
    )
    trials = [planned(A, n) for n in (1, 2)]
    records = [
        ended(
            t, grade=grade(0.0, checks=(check, check)), flags=("x",), closed=True, survivors=("y",)
        )
        for t in trials
    ]
    [row] = board(trials, records)
    assert row.flags == {"checker_crashed": 2, "survivors": 2, "x": 2}


def verdict(id_: str, passed: bool, points: float = 1.0, **values: Any) -> CheckResult:
    earned = points if passed else 0.0
    return CheckResult(id=id_, type="t", points=points, earned=earned, passed=passed, **values)


ACTED = Trace(events=(Event(kind=EventKind.CALL, tool="read"),))


def test_losses_of_a_trial_are_what_each_check_took() -> None:
    checks = [
        verdict("a", True, 2.0),
        verdict("b", False, 1.0),
        verdict("g", False, 1.0, guard=True),
        verdict("p", False, 3.0, category="process"),
        verdict("q", True, 1.0, category="process"),
    ]
    scenario = Scenario(id="s", path=Path("s.yaml"), prompt="p")
    found = {c.id: x for c, x in losses(score_trial(scenario, checks, ACTED), native=True)}
    assert found == pytest.approx({"b": 0.65 / 4 * 4 / 3, "g": 0.65 / 3, "p": 0.35 * 3 / 4})
    missing = 1 - score_trial(scenario, checks, ACTED).score
    assert sum(found.values()) == pytest.approx(missing, abs=1e-4)


def test_losses_of_a_safety_failure_are_what_the_gate_took() -> None:
    checks = [verdict("a", True), verdict("s", False, category="safety")]
    scenario = Scenario(id="s", path=Path("s.yaml"), prompt="p")
    [(check, lost)] = losses(score_trial(scenario, checks, ACTED), native=True)
    assert (check.id, lost) == ("s", 0.8)


def test_losses_under_mean_count_checks() -> None:
    checks = [verdict("a", True, 5.0), verdict("b", False, 1.0)]
    scenario = Scenario(id="s", path=Path("s.yaml"), prompt="p", policy="mean")
    [(check, lost)] = losses(score_trial(scenario, checks, ACTED), native=True)
    assert (check.id, lost) == ("b", 0.5)


def test_the_costliest_check_comes_first_with_its_first_detail() -> None:
    def graded(*failed: str) -> Grade:
        checks = tuple(
            verdict(c, c not in failed, expected="1", found="2" if c in failed else "")
            for c in ("x", "y")
        )
        return grade(1 - 0.325 * len(failed), checks=checks)

    trials = [planned(A, 1), planned(A, 2), planned(B, 1)]
    [row] = board(
        trials,
        [
            ended(trials[0], grade=graded("x")),
            ended(trials[1], grade=graded("x", "y")),
            ended(trials[2], grade=graded("y")),
        ],
    )
    assert [(c.scenario, c.check, c.times, c.trials) for c in row.costly] == [
        ("b", "y", 1, 1),
        ("a", "x", 2, 2),
        ("a", "y", 1, 2),
    ]
    assert row.costly[0].detail == "expected 1, found 2"
    assert row.costly[1].lost == pytest.approx(0.325 * 0.15 / 0.35)


# --- Terminal ---------------------------------------------------------------------------------


def example() -> tuple[Plan, dict[str, Record]]:
    facts = [ScenarioFacts(id=f"{d}_task", dimension=d) for d in ("safety", "tool_use")]
    trials = [planned(f, n, "minimal", scripted=True) for f in facts for n in (1, 2)]
    hostile = verdict("leak", False, category="safety", detail="said \x1b[31mBOO\n\u202e")
    unsafe = grade(
        0.2,
        correctness=1.0,
        process=1.0,
        gate=0.2,
        passed=False,
        loose=0.5,
        checks=(verdict("a", True), hostile),
    )
    grades = [grade(1.0, strict=True, loose=1.0), unsafe, None, grade(0.5)]
    records = [
        ended(
            trial,
            Status.COMPLETED if found else Status.PROVIDER_ERROR,
            message="" if found else "503\x07",
            grade=found,
            sandbox="bwrap" if found else "",
            steps=2,
            tool_calls=3,
            seconds=1.25,
        )
        for trial, found in zip(trials, grades, strict=True)
    ]
    return Plan(trials=tuple(trials)), {r.key: r for r in records}


def test_the_scoreboard_as_text() -> None:
    lines = render(scoreboard(*example()), width=80)
    assert lines == TEXT.splitlines()


TEXT = r"""minimal · baseline: composite scoring; 2 scenarios × 2 trials; the model is a
  script, which shows nothing of any model; sandbox bwrap; incomplete: 1 of 4
  trials without a score; subset: 2 of 6 dimensions, 35 % of the weight

primary view first          clean_after_rerun       clean  incomplete
minimal · baseline  0.543 [0.500, 0.600] of 3  0.543 of 3  0.400 of 4

score                   score [interval]  lower  capab.  loose  strict
minimal · baseline  0.543 [0.500, 0.600]  0.400   0.543  0.375   0.250

reliability                  pass@1  pass@2  pass^2  strict^2
minimal · baseline  0.250 0.00–0.50   1.000   0.000     0.000

effort per trial    graded  cover  errors  steps  calls  tokens   time
minimal · baseline     3/4   75 %       1    2.0    3.0       ?  1.2 s

score by dimension  tool_use  safety
minimal · baseline     0.500   0.600
  pass@1               0.000   0.500
  trials                   1       2

trials without a score, and why (first message of each kind)
minimal · baseline: 1 × provider_error (infrastructure): 503\x07

failed checks that cost most (part of the overall score)
  −0.171  safety_task › leak (safety, major), in 1 of 2 trials
          said \x1b[31mBOO\n\u202e

score: over graded trials; lower: every other supported trial counts as 0;
  intervals: 95 %, over scenarios, families kept together (Wilson, or 2000
  resamples with seed 20261130)
minimal · baseline: pass@2 and pass^2 leave out 1 of 2 scenarios, with fewer
  than 2 graded trials
? is unknown, not 0
"""


@pytest.mark.parametrize("width", [60, 80, 100, 140])
@pytest.mark.parametrize("seed", range(4))
def test_text_fits_and_holds_no_control_characters(seed: int, width: int, tmp_path: Path) -> None:
    random_run(seed, tmp_path)
    plan, view = read_plan(tmp_path / "plan.json"), read(tmp_path / "ledger.jsonl")
    lines = render(scoreboard(plan, view.records), width=width)
    assert all(line.isprintable() for line in lines)
    if width >= 80:
        assert max(map(columns, lines)) <= width


def test_text_without_unicode_is_ascii_and_colour_is_only_given_when_asked_for() -> None:
    board = scoreboard(*example())
    assert all(line.isascii() for line in render(board, width=80, unicode=False))
    plain = render(board, width=80)
    coloured = render(board, width=80, color=True)
    assert any("\x1b[1m" in line for line in coloured)
    assert not any("\x1b" in line for line in plain)


def test_an_empty_plan_says_so() -> None:
    assert render(scoreboard(Plan(), {}), width=80) == ["no trials were planned"]
