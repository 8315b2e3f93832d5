"""Whatever an agent leaves where a file is expected: a graded 0, no crash, no hang, no leak."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.grading.check import EVALUATORS, evaluate, needs_child
from pytest_agentbench.grading.evidence import Evidence
from pytest_agentbench.scenario.checktypes import CHECK_TYPES
from pytest_agentbench.scenario.model import CheckSpec, InputFile
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trace.events import Event, EventKind, Trace
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
        "what the agent left is nested too deeply to be checked",
    )
    while args:  # freed level by level: the interpreter's own way would recurse
        args = args["a"]


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
