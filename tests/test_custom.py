"""What Python checkers may return, and the forms of evidence that they are given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_agentbench.execution import Execution, Usage
from pytest_agentbench.grade import CheckResult
from pytest_agentbench.grading import custom, published
from pytest_agentbench.scenario.model import CheckSpec
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Event, EventKind, Trace

SPEC = CheckSpec(id="sum", type="python", points=2.0, severity="minor", guard=True)


@pytest.mark.parametrize(
    ("value", "earned", "passed"),
    [
        (True, 2.0, True),
        (False, 0.0, False),
        (1, 2.0, True),
        (0.25, 0.5, False),
        (0.99995, 1.9999, True),
        ([0.5, "half"], 1.0, False),
        ({"score": 1, "detail": "half"}, 2.0, True),
    ],
)
def test_an_answer_becomes_a_result(value: Any, earned: float, passed: bool) -> None:
    result = custom.read_answer(SPEC, value)
    assert (result.earned, result.passed, result.points) == (earned, passed, 2.0)
    assert (result.id, result.severity, result.guard) == ("sum", "minor", True)
    assert result.detail == ("half" if isinstance(value, list | dict) else "")


def test_texts_of_an_answer_are_short_and_harmless() -> None:
    value = {"score": 0, "detail": "x" * 9999, "expected": 7, "found": "\x1b[31m\ud800"}
    result = custom.read_answer(SPEC, value)
    assert len(result.detail) == 200
    assert (result.expected, result.found) == ("7", "\\x1b[31m\\ud800")


@pytest.mark.parametrize(
    "value", [None, "1", 1.01, -0.1, [], [1], [1, "a", "b"], {"detail": "x"}, 10**400, [[1], "a"]]
)
def test_any_other_answer_is_refused(value: Any) -> None:
    with pytest.raises(custom.Malformed, match=r"^it returned .*; allowed are True, False, a nu"):
        custom.read_answer(SPEC, value)


def test_checkpoints_as_published() -> None:
    verdict = {
        "grade": {
            "checkpoints": {
                "over": {"score": 0.9, "max": 0.8, "detail": "more"},
                "alias": {"earned": 0.5, "points": 2},
                "text": {"score": "0.25"},
                "under": {"score": -3, "max": 1, "category": "safety"},
                "empty": {},
            },
            "safety_violations": ["leaked a name"],
            "efficiency_penalty": 0.1,
        },
        "process": 0.7,
    }
    outcome = custom.read_checkpoints(verdict)
    assert [(c.id, c.points, c.earned, c.passed, c.category) for c in outcome.checks] == [
        ("over", 0.8, 0.8, True, "correctness"),
        ("alias", 2.0, 0.5, False, "correctness"),
        ("text", 1.0, 0.25, False, "correctness"),
        ("under", 1.0, 0.0, False, "safety"),
        ("empty", 1.0, 0.0, False, "correctness"),
    ]
    assert (outcome.process, outcome.penalty) == (0.7, 0.1)
    assert outcome.violations == ("leaked a name",)


def test_a_process_score_of_grade_beats_grade_process() -> None:
    verdict = {"grade": {"process_score": 0.2}, "process": 0.7}
    assert custom.read_checkpoints(verdict).process == 0.2


def test_grade_may_return_none() -> None:
    assert custom.read_checkpoints({"grade": None}) == custom.Outcome()


@pytest.mark.parametrize(
    ("graded", "message"),
    [
        ([1], "grade returned [1]; it must be a mapping"),
        ({"checkpoints": [1]}, "checkpoints is [1]; it must be a mapping"),
        ({"checkpoints": {"a": 1}}, "checkpoint a is 1; it must be a mapping"),
        (
            {"checkpoints": {"a": {"score": "much"}}},
            "score of checkpoint a is 'much'; it must be a number",
        ),
        (
            {"checkpoints": {"a": {"score": "nan"}}},
            "score of checkpoint a is 'nan'; it must be a number",
        ),
        ({"checkpoints": {"a": {"max": None}}}, "max of checkpoint a is None; it must be a number"),
        (
            {"checkpoints": {"a": {"category": "luck"}}},
            "category of checkpoint a is 'luck'; allowed: correctness, process, safety, efficiency",
        ),
        ({"safety_violations": "x"}, "safety_violations is 'x'; it must be a list"),
        ({"process_score": []}, "the process score is []; it must be a number"),
    ],
)
def test_malformed_checkpoints(graded: Any, message: str) -> None:
    with pytest.raises(custom.Malformed) as caught:
        custom.read_checkpoints({"grade": graded})
    assert str(caught.value) == message


def test_scores_of_a_task_file() -> None:
    outcome = custom.read_scores({"sub_1_a": 1, "sub_1_b": True, "x": 1.5, "y": -1, "note": "no"})
    assert outcome.checks == (
        CheckResult(id="sub_1_a", type="custom", points=1.0, earned=1.0, passed=True),
        CheckResult(id="sub_1_b", type="custom", points=1.0, earned=1.0, passed=True),
        CheckResult(id="x", type="custom", points=1.0, earned=1.0, passed=True),
        CheckResult(id="y", type="custom", points=1.0, earned=0.0, passed=False),
    )
    with pytest.raises(custom.Malformed, match="grade returned 'x'; it must be a mapping"):
        custom.read_scores("x")


EXECUTION = Execution(
    status=Status.COMPLETED,
    seconds=2.5,
    usage=Usage(input_tokens=7),
    trace=Trace(
        events=(
            Event(kind=EventKind.USER, text="go"),
            Event(kind=EventKind.CALL, tool="write", args={"path": "a", "content": "b"}),
            Event(kind=EventKind.RESULT, tool="write", text="ok"),
            Event(kind=EventKind.ASSISTANT, text="now"),
            Event(kind=EventKind.CALL, tool="exec", args={"argv": ["ls", "a b"]}, call_id="2"),
            Event(kind=EventKind.RESULT, tool="exec", text="no", status=500, call_id="2"),
            Event(kind=EventKind.CALL, tool="other", args={"service": "mail", "args": {"to": "x"}}),
            Event(
                kind=EventKind.CALL,
                tool="read",
                args={"path": "a"},
                native={"arguments": {"file": "./a"}},
            ),
        ),
        audit_state={"mail": []},
    ),
)


def test_the_published_trace() -> None:
    trace = published.trace_dict(EXECUTION)
    write = {"path": "a", "file_path": "a", "file": "a", "content": "b"}
    assert trace["events"] == [
        {"type": "user_message", "seq": 0, "text": "go"},
        {"type": "tool_call", "seq": 1, "tool": "write", "args": write, "call_id": ""},
        {
            "type": "tool_result",
            "seq": 2,
            "tool": "write",
            "result": "ok",
            "status": 200,
            "call_id": "",
        },
        {"type": "assistant_message", "seq": 3, "text": "now"},
        {
            "type": "tool_call",
            "seq": 4,
            "tool": "exec",
            "args": {"argv": ["ls", "a b"], "command": "ls 'a b'"},
            "call_id": "2",
        },
        {
            "type": "tool_result",
            "seq": 5,
            "tool": "exec",
            "result": "no",
            "status": 500,
            "call_id": "2",
        },
        {"type": "tool_call", "seq": 6, "tool": "mail", "args": {"to": "x"}, "call_id": ""},
        {
            "type": "tool_call",
            "seq": 7,
            "tool": "read",
            "args": {"file": "./a", "path": "./a", "file_path": "./a"},
            "call_id": "",
        },
    ]
    assert trace["metrics"]["tool_calls"] == 4
    assert trace["metrics"]["assistant_turns"] == 3
    assert trace["metrics"]["input_tokens"] == trace["metrics"]["total_tokens"] == 7
    assert trace["metrics"]["wall_time_s"] == 2.5
    assert trace["audit_state"] == {"mail": []}
    assert [call["seq"] for call in published.tool_calls(trace)] == [1, 4, 6, 7]
    json.dumps(trace, allow_nan=False)


def test_the_published_transcript() -> None:
    entries = published.transcript(EXECUTION)
    assert [entry["message"]["role"] for entry in entries] == [
        "user",
        "assistant",
        "toolResult",
        "assistant",
        "toolResult",
        "assistant",
    ]
    assert entries[3]["message"]["content"] == [
        {"type": "text", "text": "now"},
        {
            "type": "toolCall",
            "name": "exec",
            "arguments": {"argv": ["ls", "a b"], "command": "ls 'a b'"},
        },
    ]
