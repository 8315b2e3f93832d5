"""Rows of reports have the same bytes with and without the quick encoder."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_agentbench.report.encoding import compact, plainly

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(JSON)
@example({"a": 1e-05, "b": (1e16, -0.0), "c": "3e5"})
@example({"\ud800": "\udfff"})
@example([2**70, "\x7f\x1b\u2028", "é"])
def test_both_write_the_same(value: Any) -> None:
    assert compact(value) == plainly(value)
    assert json.loads(compact(value)) == json.loads(json.dumps(value))


def test_the_quick_one_is_used_where_it_may_be() -> None:
    code = (
        "import sys; sys.modules['orjson'] = None\n"
        "from pytest_agentbench.report import encoding\n"
        "print(encoding.compact({'b': 1.5, 'a': [1]}).decode(), encoding._quick)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == '{"a":[1],"b":1.5} None\n'
    assert compact({"b": 1.5, "a": (1,)}) == orjson.dumps({"a": [1], "b": 1.5})


@pytest.mark.parametrize("value", [object(), {"a": {1, 2}}])
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        compact(value)
