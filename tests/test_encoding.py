"""JSON as files of a run have it: ASCII, with sorted keys, and read back as it was."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_agentbench.report.encoding import compact

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters())
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(JSON)
@example({"a": 1e-05, "b": (1e16, -0.0), "c": "3e5"})
@example({"\ud800": "\udfff"})
@example([2**70, "\x7f\x1b\u2028", "é", "a\U0001f600b", "\\u00e9"])
def test_what_is_written_is_read_back(value: Any) -> None:
    text = compact(value)
    assert text.isascii()
    assert json.loads(text) == json.loads(json.dumps(value))
    assert repr(json.loads(text)) == repr(json.loads(json.dumps(value, sort_keys=True)))


def test_keys_are_sorted_at_every_depth_and_nothing_is_spaced() -> None:
    assert (
        compact({"b": ({"d": 1, "c": 2.0},), "a": "é"}) == b'{"a":"\\u00e9","b":[{"c":2.0,"d":1}]}'
    )


def test_what_is_no_number_is_null() -> None:
    assert compact([math.nan, math.inf]) == b"[null,null]"


def test_what_json_cannot_have_is_refused() -> None:
    with pytest.raises(TypeError):
        compact(object())
