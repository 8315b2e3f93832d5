"""Declarative checks as a file writes them."""

from __future__ import annotations

from typing import Any

from pytest_agentbench.scenario import keys, paths
from pytest_agentbench.scenario.checktypes import CHECK_TYPES, CheckType
from pytest_agentbench.scenario.inputs import find
from pytest_agentbench.scenario.model import CATEGORIES, SEVERITIES, CheckSpec
from pytest_agentbench.scenario.params import hold
from pytest_agentbench.scenario.table import Table, hint, refuse
from pytest_agentbench.scenario.yamlfile import kind

#: Keys that every check may have.
COMMON = ("id", "type", "points", "category", "severity", "guard", "description")


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
    if strict and not keys.IDENTIFIER.fullmatch(identifier):
        raise entry.refuse("id", f"must be letters, digits, `_`, `.`, `-`, not {kind(identifier)}")
    return named_check(entry, identifier, places, severity=severity, strict=strict)


def named_check(
    entry: Table, identifier: str, places: paths.Places, *, severity: str, strict: bool = True
) -> CheckSpec:
    """The check in ``entry``, under a name that is given."""
    entry.need("type")
    name = entry.choice("type", "", tuple(CHECK_TYPES))
    params = {key: value for key, value in entry.value.items() if key not in COMMON}
    if strict:
        _only_declared(entry, name, CHECK_TYPES[name])
        for key, value in params.items():
            hold(entry, name, key, value)
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


def groups(declared: CheckType) -> tuple[tuple[str, ...], ...]:
    """Parameters of which a native check has exactly one."""
    either = ("pattern", "patterns")
    return (*declared.one_of, either) if set(either) <= set(declared.allowed) else declared.one_of


def _only_declared(entry: Table, name: str, declared: CheckType) -> None:
    for key, value in entry.value.items():
        if key not in (*COMMON, *declared.allowed):
            options = (*declared.allowed, *COMMON)
            raise entry.refuse(key, f"is no parameter of {name}{hint(key, options)}")
        if value is None and key in COMMON:
            raise entry.refuse(key, "has no value; give it one or remove the key")
    for key in declared.required:
        entry.need(key)
    for group in groups(declared):
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
