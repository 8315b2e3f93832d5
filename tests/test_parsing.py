"""Large runs are read alike with and without the quick parser."""

from __future__ import annotations

import json
import subprocess
import sys

import orjson
import pytest

from pytest_agentbench.report import parsing

LINES = [
    b'{"a": [1, 1.5, -0.0, 1e-05, 123456789012345678], "b": "\xc3\xbc", "c": null}',
    b'{"a": "\\ud800"}',
    b'{"a": NaN}',
    b'{"a": 1, "a": 2}',
    b'  {"a": true}\n',
]


@pytest.mark.parametrize("line", LINES)
def test_what_python_reads_is_read_the_same(line: bytes) -> None:
    assert repr(parsing.parsed(line)) == repr(json.loads(line))


@pytest.mark.parametrize("line", [b"", b"{", b"\xff\xfe", b'{"a": 1} x'])
def test_what_is_no_json_is_refused(line: bytes) -> None:
    with pytest.raises((json.JSONDecodeError, UnicodeDecodeError)):
        parsing.parsed(line)


def test_without_the_quick_parser_pythons_own_is_used() -> None:
    code = (
        "import sys; sys.modules['orjson'] = None\n"
        "from pytest_agentbench.report import parsing\n"
        "print(parsing.parsed(b'{\"a\": 1}'), 'orjson' in repr(parsing._quick))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "{'a': 1} False\n"
    assert orjson.loads is parsing._quick
