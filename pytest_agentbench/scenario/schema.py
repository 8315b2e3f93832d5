"""The JSON Schemas (2020-12) of native scenario files and of rubrics, for editors and lint."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def schema() -> dict[str, Any]:
    """The schema. The loader knows more: files that exist, ids that are unique, links."""
    return _packaged("schema.json")


def rubric_schema() -> dict[str, Any]:
    """The schema of rubric files. The loader knows more: categories, checks, kinds."""
    return _packaged("rubric.schema.json")


def validate(value: Any) -> tuple[str, ...]:
    """What is wrong with the value of a native file, place by place; nothing if it is valid."""
    found = _errors(schema(), value)
    rubric = value.get("rubric") if isinstance(value, dict) else None
    if isinstance(rubric, dict) and "criteria" in rubric:
        found += _errors(_form("inline"), rubric)
    return found


def validate_rubric(value: Any) -> tuple[str, ...]:
    """What is wrong with the value of a rubric file, as ``validate`` has it."""
    form = "contrastive" if isinstance(value, dict) and "schema_version" in value else "native"
    return _errors(_form(form), value)


def _form(name: str) -> dict[str, Any]:
    """The schema of one form: "valid under none of the given schemas" would help nobody."""
    whole = rubric_schema()
    return {"$ref": f"#/$defs/{name}", "$defs": whole["$defs"]}


def _packaged(name: str) -> dict[str, Any]:
    text = resources.files("pytest_agentbench.scenario").joinpath(name).read_text("utf-8")
    value: dict[str, Any] = json.loads(text)
    return value


def _errors(by: dict[str, Any], value: Any) -> tuple[str, ...]:
    import jsonschema

    validator = jsonschema.Draft202012Validator(by)
    return tuple(
        sorted(f"{error.json_path}: {error.message}" for error in validator.iter_errors(value))
    )
