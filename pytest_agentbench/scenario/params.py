"""What the parameters of checks may be."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pytest_agentbench.scenario import paths
from pytest_agentbench.scenario.checktypes import EVENT_KEYS
from pytest_agentbench.scenario.table import Table, finite, refuse
from pytest_agentbench.scenario.yamlfile import KeyPath, kind

#: Types whose ``path`` is a place inside a call's arguments, not a file.
_DOTTED = ("tool_arg_contains", "tool_arg_excludes", "tool_response_contains", "audit_state_match")


def hold(entry: Table, name: str, key: str, value: Any) -> None:
    """Refuse a parameter of the wrong kind, a path that leaves, a pattern that is none."""
    at = (*entry.at, key)
    if name == "happens_before":
        _events(entry, at, value)
    if key not in _KINDS:
        return
    test, wanted = _TEXT if (name, key) == ("regex", "pattern") else _KINDS[key]
    if not test(value):
        raise entry.refuse(key, f"must be {wanted}, not {kind(value)}")
    try:
        if key == "path" and name not in _DOTTED:
            paths.relative(value)
        elif key == "paths":
            for path in value:
                paths.relative(path)
        elif key == "matches" or (key == "pattern" and name == "regex"):
            _compile(entry, at, value)
    except ValueError as error:
        raise entry.refuse(key, str(error)) from None


def _events(entry: Table, at: KeyPath, value: Any) -> None:
    """Hold an event pattern, or a list of them."""
    if isinstance(value, list) and value and at[-1] in ("first", "then"):
        for index, pattern in enumerate(value):
            _events(entry, (*at, index), pattern)
        return
    if not isinstance(value, dict) or not value:
        keys = ", ".join(EVENT_KEYS)
        raise refuse(entry.document, at, f"must be a mapping of any of {keys}, not {kind(value)}")
    pattern = Table(entry.document, value, at)
    pattern.only(EVENT_KEYS)
    for key in value:
        pattern.text(key)
    if "command" in pattern:
        _compile(entry, (*at, "command"), value["command"])


def _compile(entry: Table, at: KeyPath, value: str) -> None:
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise refuse(entry.document, at, f"is no regular expression: {error}") from None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(i, str) for i in value)


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(r and isinstance(r, dict) for r in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_TEXT = (_is_text, "text")
_TEXTS = (_is_texts, "a list of texts")
_COUNT = (_is_count, "a whole number from 0 up")
_FLAG = (lambda v: isinstance(v, bool), "true or false")
_MAP = (lambda v: isinstance(v, dict), "a mapping")
_EITHER = (lambda v: _is_text(v) or _is_texts(v), "text or a list of texts")
_AMOUNT = (lambda v: finite(v) and v >= 0, "a number from 0 up")

_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "tool": _TEXT,
    "tools": _TEXTS,
    "path": _TEXT,
    "paths": _TEXTS,
    "pattern": _EITHER,
    "patterns": _TEXTS,
    "min_count": _COUNT,
    "min_calls": _COUNT,
    "max_count": _COUNT,
    "max_calls": _COUNT,
    "target_count": _COUNT,
    "ideal_count": _COUNT,
    "max_length": _COUNT,
    "error_code_at_least": _COUNT,
    "match": _MAP,
    "tolerance": _AMOUNT,
    "query": _TEXT,
    "one_of": (lambda v: isinstance(v, list) and bool(v), "a list of values"),
    "approx": (finite, "a number"),
    "unordered": (lambda v: isinstance(v, list), "a list"),
    "matches": _TEXT,
    "absent": _FLAG,
    "schema": _MAP,
    "rows": (_is_rows, "a list of mappings"),
    "key": _EITHER,
    "ordered": _FLAG,
    "extra_rows": _FLAG,
    "ignore_case": _FLAG,
    "multiline": _FLAG,
    "delimiter": (lambda v: _is_text(v) and len(v) == 1, "one character"),
    "response": _FLAG,
    "argv": _TEXTS,
    "exit_code": _COUNT,
    "stdout_contains": _EITHER,
    "stdout_equals": _TEXT,
    "timeout": (lambda v: finite(v) and 0 < v <= 3600, "a number above 0 and at most 3600"),
    "stdin": _TEXT,
    "args": _MAP,
    "function": _TEXT,
}
