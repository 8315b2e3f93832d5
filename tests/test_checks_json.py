from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.grade import CheckResult
from pytest_agentbench.grading.equality import pair, run, same
from pytest_agentbench.status import TrialFault
from tests.evaluating import check

DOCUMENT = {
    "name": "Ada",
    "total": 1200.5,
    "count": 3,
    "open": True,
    "none": None,
    "key.with.dots": "dotted",
    "items": [
        {"id": 1, "state": "open", "tags": ["a", "b"]},
        {"id": 2, "state": "shut", "tags": []},
        {"id": 3, "state": "open", "tags": ["c"]},
    ],
}


def passed(workspace: Path, query: str, **params: Any) -> bool:
    (workspace / "out.json").write_text(json.dumps(DOCUMENT))
    return check("json_path", workspace, path="out.json", query=query, **params).passed


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("$.name", "Ada"),
        ("name", "Ada"),
        ("$", DOCUMENT),
        ("", DOCUMENT),
        ("$['key.with.dots']", "dotted"),
        ('["key.with.dots"]', "dotted"),
        ("items[0].id", 1),
        ("items[-1].id", 3),
        ("items[*].id", [1, 2, 3]),
        ("items[0:2].id", [1, 2]),
        ('items[?@.state=="open"].id', [1, 3]),
        ("items[?@.id==2].state", ["shut"]),
        ("items[1].tags", []),
        ("$..id", [1, 2, 3]),
    ],
)
def test_queries_select_one_value_or_a_list(tmp_path: Path, query: str, expected: Any) -> None:
    assert passed(tmp_path, query, equals=expected)


@pytest.mark.parametrize(
    ("query", "params", "expected"),
    [
        ("count", {"equals": 3.0}, True),
        ("count", {"equals": "3"}, False),
        ("count", {"equals": True}, False),
        ("open", {"equals": 1}, False),
        ("open", {"equals": True}, True),
        ("none", {"equals": None}, True),
        ("gone", {"equals": None}, False),
        ("name", {"equals": "ada"}, False),
        ("name", {"equals": "ada", "ignore_case": True}, True),
        ("total", {"equals": 1200}, False),
        ("total", {"equals": 1200, "tolerance": 0.5}, True),
        ("total", {"equals": 1200, "tolerance": 0.49}, False),
        ("total", {"approx": 1200.5005}, True),
        ("total", {"approx": 1200.503}, False),
        ("total", {"approx": 1201, "tolerance": 1}, True),
        ("total", {"approx": "1200.5"}, False),
        ("items[*].id", {"approx": [1.0000001, 2, 3]}, True),
        ("count", {"one_of": [1, 3]}, True),
        ("name", {"one_of": ["ada", "bob"]}, False),
        ("name", {"one_of": ["ada", "bob"], "ignore_case": True}, True),
        ("gone", {"one_of": [None]}, False),
        ("items[*].id", {"unordered": [3, 1, 2]}, True),
        ("items[*].id", {"unordered": [3, 1, 1]}, False),
        ("items[*].id", {"unordered": [3, 1]}, False),
        ("items[0].tags", {"unordered": ["B", "a"], "ignore_case": True}, True),
        ("name", {"unordered": ["A", "d", "a"]}, False),
        ("name", {"contains": "da"}, True),
        ("name", {"contains": "DA"}, False),
        ("name", {"contains": "DA", "ignore_case": True}, True),
        ("items[0].tags", {"contains": "a"}, True),
        ("items[*].id", {"contains": 2}, True),
        ("items[*].id", {"contains": 4}, False),
        ("items[0]", {"contains": "state"}, True),
        ("count", {"contains": 3}, False),
        ("name", {"matches": "^A.a$"}, True),
        ("name", {"matches": "^a", "ignore_case": True}, True),
        ("count", {"matches": "^3$"}, True),
        ("items", {"matches": "."}, False),
        ("gone", {"absent": True}, True),
        ("none", {"absent": True}, False),
        ("gone", {"absent": False}, False),
        ("none", {"absent": False}, True),
        ("items[?@.id>9]", {"absent": True}, True),
        ("items[?@.id>9]", {"equals": []}, True),
        ("name.first", {"absent": True}, True),
    ],
)
def test_each_test_of_a_selected_value(
    tmp_path: Path, query: str, params: dict[str, Any], expected: bool
) -> None:
    assert passed(tmp_path, query, **params) is expected


def test_what_was_expected_and_found_is_told(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text(json.dumps(DOCUMENT))

    def told(query: str, **params: Any) -> tuple[str, str, str]:
        result = check("json_path", tmp_path, path="out.json", query=query, **params)
        return result.detail, result.expected, result.found

    assert told("count", equals=4) == ("", "4", "3")
    assert told("count", one_of=[4, 5]) == ("", "one of [4, 5]", "3")
    assert told("gone", equals=4) == ("nothing is at gone", "4", "")
    assert told("count", absent=True) == ("", "no value at count", "[3]")


@pytest.mark.parametrize("content", ['"name"', '"[1]"', "5", "null", "[]"])
def test_a_document_that_is_no_object_has_no_members(tmp_path: Path, content: str) -> None:
    (tmp_path / "out.json").write_text(content)
    assert check("json_path", tmp_path, path="out.json", query="name", absent=True).passed
    assert not check("json_path", tmp_path, path="out.json", query="[0]", equals=1).passed
    whole = check("json_path", tmp_path, path="out.json", query="$", equals=json.loads(content))
    assert whole.passed


def test_descending_into_a_document_of_the_greatest_depth(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text("[" * 100 + "]" * 100)
    result = check("json_path", tmp_path, path="out.json", query="$..k", equals=[])
    assert result.id == "c"


def test_a_query_with_a_mistake_is_a_checker_error(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text("{}")
    with pytest.raises(TrialFault, match="check 'c' of type json_path cannot be evaluated"):
        check("json_path", tmp_path, path="out.json", query="a[?@.b", equals=1)


def test_numbers_beyond_doubles_compare_without_overflow() -> None:
    assert not same(1.5, 10**300, tolerance=0.1)
    assert not same(1.5, 10**400, tolerance=None)
    assert same(10**400, 10**400)
    assert not same(2**53, 2**53 + 1)


SCHEMA = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"$ref": "#/$defs/id"}, "tags": {"prefixItems": [{"const": "a"}]}},
    "$defs": {"id": {"type": "integer", "minimum": 1}},
}


def schema_check(workspace: Path, document: object, schema: object = SCHEMA) -> CheckResult:
    (workspace / "out.json").write_text(json.dumps(document))
    return check("json_schema", workspace, path="out.json", schema=schema)


def test_a_document_by_its_schema(tmp_path: Path) -> None:
    assert schema_check(tmp_path, {"id": 1, "tags": ["a", 2]}).passed
    result = schema_check(tmp_path, {"id": 0})
    assert (result.passed, result.detail) == (False, "at $.id: 0 is less than the minimum of 1")
    assert not schema_check(tmp_path, {"id": 1, "tags": ["b"]}).passed
    assert not schema_check(tmp_path, []).passed
    assert not schema_check(tmp_path, {"id": True}).passed


@pytest.mark.parametrize(
    "schema", [{"type": "objekt"}, {"$ref": "http://127.0.0.1:9/schema.json"}, {"$ref": "#/none"}]
)
def test_a_schema_that_is_wrong_or_elsewhere_is_a_checker_error(
    tmp_path: Path, schema: object
) -> None:
    with pytest.raises(TrialFault, match="check 'c' of type json_schema cannot be evaluated"):
        schema_check(tmp_path, {"id": 1}, schema)


def test_a_recursive_schema_on_a_deep_document_is_no_fault(tmp_path: Path) -> None:
    document: list[Any] = []
    for _ in range(99):
        document = [document]
    assert schema_check(tmp_path, document, {"type": "array", "items": {"$ref": "#"}}).id == "c"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=5,
)


@settings(max_examples=50, derandomize=True, deadline=None)
@given(members=st.lists(values, max_size=6), data=st.data())
def test_matching_is_free_of_order(members: list[Any], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(members))
    assert pair(members, shuffled, same) == len(members)
    assert run(members, members, same) == len(members)
    assert run(members, shuffled, same) <= len(members)


@settings(max_examples=50, derandomize=True, deadline=None)
@given(left=values, right=values)
def test_equality_is_that_of_json(left: Any, right: Any) -> None:
    assert same(left, right) == same(right, left) == (typed(left) == typed(right))


def typed(value: Any) -> Any:
    """A value that Python compares as JSON does: a boolean is told from a number."""
    if isinstance(value, dict):
        return {key: typed(member) for key, member in value.items()}
    return (
        [typed(m) for m in value] if isinstance(value, list) else (value, isinstance(value, bool))
    )


def test_matching_finds_the_pairing_that_serves_most() -> None:
    def close(left: float, right: float) -> bool:
        return abs(left - right) <= 1

    assert pair([1, 0], [1, 2], close) == 2
    assert pair([1] * 1200, [1] * 1200, same) == 1200
