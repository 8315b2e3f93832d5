from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.evaluating import call, check, result, said, trace_of

SAID = trace_of(said("Total: 40\nTotal: 42"), said("Done."))


@pytest.mark.parametrize(
    ("params", "passed", "expected", "found"),
    [
        ({"pattern": "total"}, False, "at least 1 matches of total", "0 matches"),
        (
            {"pattern": "total", "ignore_case": True},
            True,
            "at least 1 matches of total",
            "1 matches, the first Total",
        ),
        (
            {"pattern": "Total", "min_count": 3},
            False,
            "at least 3 matches of Total",
            "2 matches, the first Total",
        ),
        (
            {"pattern": "Total", "max_count": 1},
            False,
            "at least 1, at most 1 matches of Total",
            "2 matches, the first Total",
        ),
        (
            {"pattern": "Total", "max_count": 0},
            False,
            "at least 0, at most 0 matches of Total",
            "1 matches, the first Total",
        ),
        (
            {"pattern": "Sum", "max_count": 0},
            True,
            "at least 0, at most 0 matches of Sum",
            "0 matches",
        ),
        (
            {"pattern": "Sum", "max_count": 2},
            False,
            "at least 1, at most 2 matches of Sum",
            "0 matches",
        ),
        ({"pattern": "^Done"}, False, "at least 1 matches of ^Done", "0 matches"),
        (
            {"pattern": r"4\d$", "multiline": True, "min_count": 2, "max_count": 2},
            True,
            r"at least 2, at most 2 matches of 4\\d$",
            "2 matches, the first 40",
        ),
    ],
)
def test_a_regular_expression_in_the_response(
    tmp_path: Path, params: dict[str, Any], passed: bool, expected: str, found: str
) -> None:
    verdict = check("regex", tmp_path, trace=SAID, response=True, **params)
    assert (verdict.passed, verdict.expected.replace("\\d", "\\\\d"), verdict.found) == (
        passed,
        expected,
        found,
    )


def test_a_regular_expression_in_a_file_that_must_exist(tmp_path: Path) -> None:
    forbidden: dict[str, Any] = {"pattern": "password", "max_count": 0}
    missing = check("regex", tmp_path, path="notes.md", **forbidden)
    assert (missing.passed, missing.detail) == (False, "notes.md does not exist")
    (tmp_path / "notes.md").write_text("all well")
    assert check("regex", tmp_path, path="notes.md", **forbidden).passed


def test_a_file_that_must_not_hold_something_must_exist(tmp_path: Path) -> None:
    missing = check("file_excludes", tmp_path, path="a.txt", patterns=["x", "Y"])
    assert (missing.passed, missing.detail) == (False, "a.txt does not exist")
    (tmp_path / "a.txt").write_text("only y")
    held = check("file_excludes", tmp_path, path="a.txt", patterns=["x", "Y"])
    assert (held.passed, held.detail) == (False, 'found: ["Y"]')
    assert check("file_excludes", tmp_path, path="a.txt", pattern="z").passed


def test_a_file_that_is_not_text_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"expected\x80")
    verdict = check("file_contains", tmp_path, path="a.bin", pattern="expected")
    assert (verdict.earned, verdict.detail) == (0.0, "a.bin is not UTF-8 at byte 8")


def test_what_is_missing_from_a_response_is_named(tmp_path: Path) -> None:
    verdict = check("response_contains", tmp_path, trace=SAID, patterns=["done", "41", "43"])
    assert (verdict.earned, verdict.detail) == (0.3333, 'not found: ["41", "43"]')


def test_native_names_and_argument_vectors_count_as_published_checks_write_them(
    tmp_path: Path,
) -> None:
    trace = trace_of(
        call("exec", call_id="1", argv=["ls", "-la", "docs"]), result("a.txt", call_id="1")
    )
    assert check("tool_arg_contains", tmp_path, trace=trace, tool="exec", pattern="ls -la").passed
    by_path = check(
        "tool_arg_contains", tmp_path, trace=trace, tool="exec", path="command", pattern="docs"
    )
    assert by_path.passed
    answered = check("tool_response_contains", tmp_path, trace=trace, tool="exec", pattern="a.txt")
    assert answered.passed


def test_a_tool_counts_by_its_canonical_and_its_native_name(tmp_path: Path) -> None:
    from dataclasses import replace

    trace = trace_of(replace(call("search", query="x"), native_name="Grep"))
    assert check("tool_called", tmp_path, trace=trace, tool="search").passed
    assert check("tool_called", tmp_path, trace=trace, tool="Grep").passed
    assert not check("tool_called", tmp_path, trace=trace, tool="grep").passed
    assert not check("tool_not_called", tmp_path, trace=trace, tool="Grep").passed


@pytest.mark.parametrize("key", ["path", "file_path", "file"])
def test_a_file_argument_under_every_published_spelling(tmp_path: Path, key: str) -> None:
    trace = trace_of(call("write", **{key: "out.json", "content": "Ä"}))
    for path in ("path", "file_path", ""):
        verdict = check(
            "tool_arg_contains", tmp_path, trace=trace, tool="write", path=path, pattern="out.json"
        )
        assert verdict.passed, path
    assert check("tool_arg_contains", tmp_path, trace=trace, tool="write", pattern="ä").passed
