"""Large runs are read as Python's own parser would read them."""

from __future__ import annotations

import json

import pytest

from pytest_agentbench.report.parsing import parsed

LINES = [
    b'{"a": [1, 1.5, -0.0, 1e-05, 123456789012345678], "b": "\xc3\xbc", "c": null}',
    b'{"a": 123456789012345678901234567890}',
    b'{"a": "\\ud800"}',
    b'{"a": NaN}',
    b'{"a": 1, "a": 2}',
    b'  {"a": true}\n',
]


@pytest.mark.parametrize("line", LINES)
def test_what_python_reads_is_read_the_same(line: bytes) -> None:
    assert repr(parsed(line)) == repr(json.loads(line))


@pytest.mark.parametrize("line", [b"", b"{", b"\xff\xfe", b'{"a": 1} x'])
def test_what_is_no_json_is_refused(line: bytes) -> None:
    with pytest.raises((json.JSONDecodeError, UnicodeDecodeError)):
        parsed(line)


def test_what_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(RecursionError):
        parsed(b"[" * 100_000 + b"]" * 100_000)
