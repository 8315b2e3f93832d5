"""Whatever an agent leaves where a file is expected: a graded 0, no crash, no hang, no leak."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_agentbench.grading.check import EVALUATORS, evaluate, needs_child
from pytest_agentbench.grading.evidence import Evidence
from pytest_agentbench.scenario.checktypes import CHECK_TYPES
from pytest_agentbench.scenario.model import CheckSpec, InputFile
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trace.events import Event, EventKind, Tool, Trace
from tests.evaluating import check

SECRET = "the-answer-is-elsewhere"


def text(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def folder(path: Path) -> None:
    path.mkdir()


def fifo(path: Path) -> None:
    os.mkfifo(path)


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(200 << 20)


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def outward(path: Path) -> None:
    (path.parent.parent / "secret.json").write_text(f'{{"k": ["{SECRET}"]}}\n| k |\n|---|\n')
    path.symlink_to("../secret.json")


def absolute(path: Path) -> None:
    path.symlink_to("/etc/passwd")


#: Things that are no text file at all.
NO_FILE: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "folder": folder,
    "fifo": fifo,
    "socket": bound_socket,
    "link loop": loop,
    "link out": outward,
    "link to /etc/passwd": absolute,
}
NO_TEXT = {**NO_FILE, "binary": text(bytes(range(256)) * 8), "200 MB": sparse}
NO_JSON = {
    **NO_TEXT,
    "cut short": text(b'{"a": '),
    "deep": text(b"[" * 100_000 + b"]" * 100_000),
    "long integer": text(b'{"k": ' + b"9" * 5000 + b"}"),
    "NaN": text(b'{"k": NaN}'),
}
#: A list is well-formed, and still not the object that was asked for.
WRONG = {**NO_JSON, "a list": text(b"[1, 2]\n")}

#: By check: its parameters, and what must score 0 there.
CHECKS: dict[str, tuple[dict[str, Any], dict[str, Callable[[Path], object]]]] = {
    "file_exists": ({}, NO_FILE),
    "file_contains": ({"pattern": "expected"}, WRONG),
    "file_excludes": ({"pattern": "unwanted"}, NO_TEXT),
    "regex": ({"pattern": "^expected$"}, WRONG),
    "json_path": ({"query": "k", "equals": 1}, WRONG),
    "json_schema": ({"schema": {"type": "object"}}, WRONG),
    "table": ({"rows": [{"k": 1}]}, WRONG),
}
CASES = [(kind, name) for kind, (_, things) in CHECKS.items() for name in things]


@pytest.mark.parametrize(("kind", "thing"), CASES)
def test_hostile_output_scores_nothing(kind: str, thing: str, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    params, things = CHECKS[kind]
    things[thing](workspace / "out")
    result = check(kind, workspace, path="out", **params)
    assert (result.earned, result.passed) == (0.0, False)
    shown = result.detail + result.expected + result.found
    assert SECRET not in shown
    assert "root:" not in shown
    assert max(map(len, (result.detail, result.expected, result.found))) <= 200


@pytest.mark.parametrize("thing", [name for name in NO_FILE if name != "nothing"])
def test_whatever_is_there_is_not_absent(thing: str, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    NO_FILE[thing](workspace / "out")
    assert not check("file_absent", workspace, path="out").passed


@pytest.mark.parametrize("thing", list(WRONG))
def test_an_input_replaced_by_anything_is_changed(thing: str, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    WRONG[thing](workspace / "in.txt")
    result = check(
        "inputs_unchanged", workspace, inputs=(InputFile(dest="in.txt", content=b"given\n"),)
    )
    assert (result.earned, result.detail) == (0.0, "changed: in.txt")


def test_results_are_safe_to_show(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text('"\\u001b[31mred\\u202e\\ud800\\n' + "x" * 1000 + '"')
    found = check("json_path", tmp_path, path="out.json", query="$", equals="a").found
    assert found.startswith("\\x1b[31mred\\u202e\\ud800\\nxxx")
    assert len(found) == 200
    assert found.endswith("x…")


def test_a_trace_nested_without_end_scores_nothing(tmp_path: Path) -> None:
    args: dict[str, Any] = {}
    for _ in range(100_000):
        args = {"a": args}
    trace = Trace(events=(Event(kind=EventKind.CALL, tool="exec", args=args),))
    result = check("tool_arg_excludes", tmp_path, trace=trace, tool="exec", pattern="rm")
    assert (result.earned, result.detail) == (
        0.0,
        "what the agent left is too deep or too large to be checked",
    )
    while args:  # freed level by level: the interpreter's own way would recurse
        args = args["a"]


def nested(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3)
    )


names = st.sampled_from(["path", "file", "command", "argv", "query", "status", "a", "a.b", "0"])
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
events = st.builds(
    Event,
    kind=st.sampled_from(EventKind),
    text=st.text(max_size=8),
    tool=st.sampled_from([*Tool, "", "native"]),
    args=st.dictionaries(names, nested(leaves), max_size=4),
    call_id=st.sampled_from(["", "1", "2"]),
    status=st.none() | st.integers(-1, 600),
)
TRACE_CHECKS: list[tuple[str, dict[str, Any]]] = [
    ("tool_called", {"tool": "exec", "min_count": 2, "max_count": 1}),
    ("tool_not_called", {"tool": "exec"}),
    ("tool_arg_contains", {"tool": "exec", "path": "command.0.a", "pattern": "a"}),
    ("tool_arg_contains", {"tool": "write", "patterns": ["a", "b"]}),
    ("tool_arg_excludes", {"tool": "exec", "pattern": "a"}),
    ("tool_response_contains", {"tool": "exec", "path": "status", "pattern": 5}),
    ("tool_response_excludes", {"tool": "exec", "pattern": "a"}),
    ("tool_sequence", {"tools": ["read", "write", "read"]}),
    ("tool_called_before", {"first": "read", "second": "write"}),
    ("tool_count", {"tool": "exec", "min_count": 1, "max_count": 2}),
    ("tool_count_score", {"tool": "exec", "target_count": 1, "tolerance": 1}),
    ("response_contains", {"patterns": ["a", "b"]}),
    ("response_excludes", {"pattern": "a"}),
    ("response_length_max", {"max_length": 3}),
    ("tool_recovered_after_error", {"tool": "exec"}),
    ("assistant_asks_clarification", {}),
    ("audit_state_match", {"path": "a.0", "match": {"a_contains": ["x"], "b_prefix": "y", "a": 1}}),
    ("happens_before", {"first": {"reads": "a"}, "then": {"writes": "*", "text": "x"}}),
]


@settings(max_examples=60, derandomize=True, deadline=None)
@given(done=st.lists(events, max_size=6), state=st.dictionaries(names, nested(leaves), max_size=3))
def test_no_trace_is_too_strange_to_score(done: list[Event], state: dict[str, Any]) -> None:
    trace = Trace(events=tuple(done), audit_state=state)
    for kind, params in TRACE_CHECKS:
        assert 0 <= check(kind, Path("/nowhere"), trace=trace, **params).earned <= 1, kind


JSON_CHECKS: list[dict[str, Any]] = [
    {"query": "$..a", "equals": [1]},
    {"query": "a[0]", "approx": 1.5},
    {"query": "a", "unordered": [1, 2]},
    {"query": "[?@.a > 1]", "contains": "x", "ignore_case": True},
    {"query": "a", "matches": "^x"},
    {"query": "[*]", "one_of": [[], [1]], "tolerance": 0.5},
    {"query": "['a.b']", "absent": True},
]


@settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(document=nested(leaves), noise=st.binary(max_size=20))
def test_no_file_is_too_strange_to_score(tmp_path: Path, document: Any, noise: bytes) -> None:
    for content in (json.dumps(document).encode(), noise):
        (tmp_path / "out").write_bytes(content)
        for kind in ("file_contains", "file_excludes", "regex"):
            assert 0 <= check(kind, tmp_path, path="out", pattern="a").earned <= 1
        for params in JSON_CHECKS:
            assert check("json_path", tmp_path, path="out", **params).earned in (0, 1)
        schema = {"properties": {"a": {"multipleOf": 0.1, "uniqueItems": True}}}
        assert check("json_schema", tmp_path, path="out", schema=schema).earned in (0, 1)
        rows = [{"a": 1, "b": "x"}]
        assert 0 <= check("table", tmp_path, path="out", rows=rows).earned <= 1


def test_every_declared_type_but_python_has_an_evaluator() -> None:
    assert sorted(EVALUATORS) == sorted(CHECK_TYPES.keys() - {"python"})


def test_a_broken_declaration_is_a_checker_error(tmp_path: Path) -> None:
    spec = CheckSpec(id="sum", type="regex", params={"pattern": "(", "response": True})
    with pytest.raises(TrialFault) as fault:
        evaluate(spec, Evidence(workspace=tmp_path, trace=Trace()))
    assert fault.value.status is Status.CHECKER_ERROR
    assert str(fault.value) == (
        "check 'sum' of type regex cannot be evaluated: error: missing ), unterminated subpattern "
        "at position 0; mend its parameters in the scenario file"
    )


def test_a_result_carries_what_was_declared(tmp_path: Path) -> None:
    spec = CheckSpec(
        id="kept",
        type="file_absent",
        points=2.5,
        category="safety",
        severity="critical",
        guard=True,
        params={"path": "x"},
    )
    result = evaluate(spec, Evidence(workspace=tmp_path, trace=Trace()))
    assert (result.id, result.type, result.points, result.earned, result.passed) == (
        "kept",
        "file_absent",
        2.5,
        2.5,
        True,
    )
    assert (result.category, result.severity, result.guard) == ("safety", "critical", True)


@pytest.mark.parametrize(
    ("kind", "params", "expected"),
    [
        ("regex", {}, True),
        ("table", {}, True),
        ("json_schema", {}, True),
        ("python", {}, True),
        ("json_path", {"query": "a", "matches": "x"}, True),
        ("json_path", {"query": "a[?search(@.b, 'x')]", "absent": True}, True),
        ("json_path", {"query": "a", "equals": 1}, False),
        ("happens_before", {"first": {"command": "x"}, "then": {"tool": "write"}}, True),
        ("happens_before", {"first": [{"reads": "x"}, {"command": "x"}], "then": {}}, True),
        ("happens_before", {"first": {"reads": "command"}, "then": {"tool": "write"}}, False),
        ("file_contains", {}, False),
        ("command", {}, False),
    ],
)
def test_what_hostile_content_can_slow_down_needs_a_child(
    kind: str, params: dict[str, Any], expected: bool
) -> None:
    assert needs_child(CheckSpec(id="c", type=kind, params=params)) is expected
