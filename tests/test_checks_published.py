"""The 18 check types of the published composite form, against figures of its own harness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.grading.check import EVALUATORS, evaluate
from pytest_agentbench.grading.evidence import Evidence
from pytest_agentbench.scenario.model import CheckSpec
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trace.events import Event, EventKind, Trace

DATA = Path(__file__).parent / "data" / "composite_scoring.jsonl"
GRADES = [
    vector
    for vector in map(json.loads, DATA.read_text("utf-8").splitlines())
    if vector["kind"] == "grade"
]


def published_event(data: dict[str, Any]) -> Event:
    return Event(
        kind=EventKind(data["type"]),
        text=data.get("text", data.get("result", "")),
        tool=data.get("tool", ""),
        args=data.get("args", {}),
        status=data.get("status"),
    )


def declared(check: dict[str, Any]) -> CheckSpec:
    return CheckSpec(
        id=check["id"],
        type=check["type"],
        points=check["points"],
        category=check["category"],
        severity=check["severity"],
        params=check["config"],
    )


def test_every_published_grade_is_there() -> None:
    assert len(GRADES) == 34


GRADED = [vector for vector in GRADES if "checks" in vector["result"]]


@pytest.mark.parametrize("vector", GRADED, ids=[vector["name"] for vector in GRADED])
def test_published_checks_earn_the_published_points(vector: dict[str, Any], tmp_path: Path) -> None:
    for name, content in vector["files"].items():
        (tmp_path / name).write_text(content, "utf-8")
    trace = Trace(
        events=tuple(map(published_event, vector["events"])), audit_state=vector["audit_state"]
    )
    evidence = Evidence(workspace=tmp_path, trace=trace)
    results = [evaluate(declared(check), evidence) for check in vector["checks"]]
    assert [(r.id, r.earned, r.passed) for r in results] == [
        (check["id"], check["earned"], check["passed"]) for check in vector["result"]["checks"]
    ]


def test_the_type_that_the_published_harness_refuses_is_a_checker_error(tmp_path: Path) -> None:
    (vector,) = (vector for vector in GRADES if "checks" not in vector["result"])
    with pytest.raises(TrialFault) as fault:
        evaluate(declared(vector["checks"][0]), Evidence(workspace=tmp_path, trace=Trace()))
    assert fault.value.status is Status.CHECKER_ERROR
    assert str(fault.value) == (
        "check 'a' is of type llm_judge, which is not evaluated here; known are: "
        + ", ".join(sorted(EVALUATORS))
    )
