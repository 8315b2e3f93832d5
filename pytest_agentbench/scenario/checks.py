"""Declarative checks as a file writes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pytest_agentbench.scenario import paths
from pytest_agentbench.scenario.checktypes import CHECK_TYPES, CheckType
from pytest_agentbench.scenario.inputs import find
from pytest_agentbench.scenario.model import CATEGORIES, SEVERITIES, CheckSpec
from pytest_agentbench.scenario.table import Table, finite, hint, refuse
from pytest_agentbench.scenario.yamlfile import kind

#: Keys that every check may have.
COMMON = ("id", "type", "points", "category", "severity", "guard", "description")

_IDENTIFIER = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")
#: Types whose ``path`` is a place inside a call's arguments, not a file.
_DOTTED = ("tool_arg_contains", "tool_arg_excludes", "tool_response_contains", "audit_state_match")


def checks(
    table: Table, places: paths.Places, *, severity: str, strict: bool = True
) -> tuple[CheckSpec, ...]:
    """The list at ``checks``. Unless ``strict``, parameters that a type lacks are let through."""
    found: dict[str, CheckSpec] = {}
    for entry in table.tables("checks"):
        check = _check(entry, places, severity=severity, strict=strict)
        if check.id in found:
            raise entry.refuse("id", f"{kind(check.id)} names two checks")
        found[check.id] = check
    return tuple(found.values())


def _check(entry: Table, places: paths.Places, *, severity: str, strict: bool) -> CheckSpec:
    entry.need("id")
    identifier = entry.text("id")
    if strict and not _IDENTIFIER.fullmatch(identifier):
        raise entry.refuse("id", f"must be letters, digits, `_`, `.`, `-`, not {kind(identifier)}")
    entry.need("type")
    name = entry.choice("type", "", tuple(CHECK_TYPES))
    params = {key: value for key, value in entry.value.items() if key not in COMMON}
    if strict:
        _only_declared(entry, name, CHECK_TYPES[name])
        for key, value in params.items():
            _hold(entry, name, key, value)
    if name == "python":
        params = _function(entry, places)
    return CheckSpec(
        id=identifier,
        type=name,
        points=entry.number("points", 1.0, above=0 if strict else None, high=1000),
        category=entry.choice("category", "correctness", CATEGORIES),
        severity=entry.choice("severity", severity, SEVERITIES),
        guard=entry.flag("guard"),
        description=entry.text("description"),
        params=params,
    )


def _only_declared(entry: Table, name: str, declared: CheckType) -> None:
    for key, value in entry.value.items():
        if key not in (*COMMON, *declared.allowed):
            options = (*declared.allowed, *COMMON)
            raise entry.refuse(key, f"is no parameter of {name}{hint(key, options)}")
        if value is None and key in COMMON:
            raise entry.refuse(key, "has no value; give it one or remove the key")
    for key in declared.required:
        entry.need(key)
    for group in declared.one_of:
        given = [key for key in group if key in entry.value]
        if len(given) != 1:
            problem = (
                f"needs exactly one of {', '.join(group)}; it has {' and '.join(given) or 'none'}"
            )
            raise refuse(entry.document, entry.at, problem)


def _function(entry: Table, places: paths.Places) -> dict[str, Any]:
    text = entry.text("function")
    file, _, function = text.rpartition(":")
    if not file.endswith(".py") or not function.isidentifier():
        raise entry.refuse("function", f"must be FILE.py:NAME, not {kind(text)}")
    path = find(entry.document, (*entry.at, "function"), file, places)
    return {"file": str(path), "function": function, "args": entry.table("args").value}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(i, str) for i in value)


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
    "rows": (lambda v: isinstance(v, list), "a list of rows"),
    "key": _EITHER,
    "ordered": _FLAG,
    "extra_rows": _FLAG,
    "ignore_case": _FLAG,
    "multiline": _FLAG,
    "delimiter": _TEXT,
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


def _hold(entry: Table, name: str, key: str, value: Any) -> None:
    """Refuse a parameter of the wrong kind, a path that leaves, a pattern that is none."""
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
            re.compile(value)
    except ValueError as error:
        raise entry.refuse(key, str(error)) from None
    except (re.error, OverflowError, RecursionError) as error:
        raise entry.refuse(key, f"is no regular expression: {error}") from None
