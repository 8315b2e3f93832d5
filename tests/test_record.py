from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Attempt, TimeLimit, Usage
from pytest_agentbench.grade import (
    CategoryScore,
    CheckResult,
    CriterionVerdict,
    Grade,
    RubricGrade,
    Vote,
)
from pytest_agentbench.phase_record import PhaseFacts
from pytest_agentbench.record import Record, ScenarioFacts, closed_line, summary
from pytest_agentbench.skill import GivenSkill, MadeSkill, Mutation
from pytest_agentbench.status import POLICIES, Status

FULL = Record(
    key="k" * 64,
    node_id="scenarios/a.yaml::a[nop-baseline-t1]",
    scenario=ScenarioFacts(id="a", dimension="safety", tags=("x", "y"), family="f"),
    runtime="nop",
    adapter="nop",
    model="m",
    mode="baseline",
    index=1,
    status=Status.AGENT_TIMEOUT,
    message="agent: 3.0 s of 3.0 s",
    grade=Grade(
        policy="composite",
        threshold=0.6,
        checks=(
            CheckResult(
                id="c1",
                type="regex",
                points=2.0,
                earned=0.5,
                passed=False,
                category="safety",
                found="\x1b[31m\udcff\u2028",
                flags=("checker_crashed_on_output",),
            ),
        ),
        score=0.25,
        sub_problems={"1": 0.5},
        flags=("f",),
        rubric=RubricGrade(
            verdicts=(
                CriterionVerdict(
                    id="names_the_cause",
                    kind="completion",
                    category="domain_operationalization",
                    met=True,
                    level=0.5,
                    gatekeeper=True,
                    quotes=("\x1b[31m the pump",),
                    judges=(Vote(judge="one", met=None, quotes=("the pump",)),),
                    flags=("unsupported",),
                ),
                CriterionVerdict(
                    id="asks_first", kind="process", category="scope_discipline", met=None
                ),
            ),
            completion_loose=1.0,
            completion_strict=1.0,
            gated=1.0,
            gates_failed=("other",),
            categories=(
                CategoryScore(
                    category="domain_operationalization",
                    kind="completion",
                    loose=0.5,
                    strict=0.0,
                    criteria=1,
                ),
            ),
            judges=("one",),
            usage=Usage(input_tokens=7, cost_usd=0.2),
            message="one of two judges",
            flags=("g",),
        ),
    ),
    steps=3,
    tool_calls=4,
    usage=Usage(input_tokens=10, cost_usd=0.1),
    started=1.5,
    ended=4.5,
    seconds=3.0,
    phases=(
        PhaseFacts(
            name="preskill_author",
            role="author",
            graded=False,
            status=Status.COMPLETED,
            seconds=1.0,
            limit=3.0,
            made=(MadeSkill(name="totals", files=1, bytes=9, sha256="ab", deviations=("x",)),),
            outputs_written=("out/a.txt",),
        ),
        PhaseFacts(
            name="preskill_execute",
            status=Status.AGENT_TIMEOUT,
            seconds=3.0,
            limit=3.0,
            attempts=(Attempt(status=Status.PROVIDER_ERROR, message="429", seconds=1.0),),
            given=(GivenSkill(name="totals", files=1, sha256="ab", shown=True, opened=False),),
            mutation=Mutation(edited=("totals/SKILL.md",)),
        ),
    ),
    attempts=(Attempt(status=Status.PROVIDER_ERROR, message="429", seconds=0.1),),
    time_limit=TimeLimit(layer="agent", limit=3.0, elapsed=3.0),
    scripted=True,
    sandbox="bwrap",
    enforced={"network": "none", "pids": 64},
    flags=("survivors",),
    lock={"scenario": "abc"},
    observed={"version": "1"},
)


def through_json(record: Record) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(record.to_json()))
    return made


@pytest.mark.parametrize(
    "record",
    [FULL, dataclasses.replace(FULL, grade=None, time_limit=None, phases=(), attempts=())],
    ids=["full", "bare"],
)
def test_a_record_comes_back_equal(record: Record) -> None:
    assert Record.from_json(through_json(record)) == record


def test_a_record_of_a_version_without_rubrics_loads() -> None:
    data = through_json(FULL)
    del data["grade"]["rubric"]
    read = Record.from_json(data)
    assert read.grade is not None
    assert FULL.grade is not None
    assert read.grade == dataclasses.replace(FULL.grade, rubric=None)


def test_the_graded_line_does_not_say_how_teardown_went() -> None:
    closed = dataclasses.replace(FULL, closed=True, survivors=("sleep",))
    assert closed.to_json() == FULL.to_json()
    assert closed_line("k", ("sleep",)) == {
        "schema": "1.0",
        "event": "closed",
        "key": "k",
        "survivors": ["sleep"],
    }


def test_fields_of_a_later_minor_version_are_ignored_at_every_depth() -> None:
    data = through_json(FULL)
    parts = [
        data,
        data["scenario"],
        data["usage"],
        data["grade"],
        data["grade"]["checks"][0],
        data["grade"]["rubric"],
        data["grade"]["rubric"]["verdicts"][0],
        data["grade"]["rubric"]["verdicts"][0]["judges"][0],
        data["grade"]["rubric"]["categories"][0],
        data["grade"]["rubric"]["usage"],
        data["phases"][0],
        data["phases"][0]["usage"],
        data["attempts"][0],
        data["time_limit"],
    ]
    for part in parts:
        part["novelty"] = 1
    assert Record.from_json(data | {"schema": "1.9"}) == FULL


def test_another_major_version_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^record schema 2\.0; this version reads 1\.0$"):
        Record.from_json(through_json(FULL) | {"schema": "2.0"})


def test_a_status_that_is_not_graded_has_no_verdict() -> None:
    lost = dataclasses.replace(FULL, status=Status.WORKER_LOST)
    passed = dataclasses.replace(FULL, grade=Grade(policy="mean", threshold=1.0, passed=True))
    assert passed.passed
    assert not lost.graded
    assert not dataclasses.replace(passed, status=Status.WORKER_LOST).passed


def table(text: str) -> list[list[str]]:
    rows = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row] for row in rows]


def test_the_published_table_of_statuses_is_the_one_in_force() -> None:
    text = (Path(__file__).parent.parent / "docs/statuses.md").read_text(encoding="utf-8")
    said = {row[0].strip("`"): tuple(row[1:4]) for row in table(text) if len(row) == 5}
    assert said == {
        status.value: (
            "yes" if policy.retried else "no",
            "yes" if policy.graded else "no",
            policy.counts,
        )
        for status, policy in POLICIES.items()
    }


def test_what_travels_with_reports_counts_all_phases() -> None:
    used = (
        Usage(input_tokens=10, output_tokens=2, cost_usd=0.1),
        Usage(input_tokens=5, output_tokens=1),
    )
    phases = tuple(dataclasses.replace(p, usage=u) for p, u in zip(FULL.phases, used, strict=True))
    told = summary(dataclasses.replace(FULL, phases=phases, usage=used[1]))
    assert (told["tokens"], told["cost_usd"]) == (18, None)
