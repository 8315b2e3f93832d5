"""The JSON Schema (2020-12) of native scenario files, for editors and lint."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def schema() -> dict[str, Any]:
    """The schema. The loader knows more: files that exist, ids that are unique, links."""
    text = resources.files("pytest_agentbench.scenario").joinpath("schema.json").read_text("utf-8")
    value: dict[str, Any] = json.loads(text)
    return value


def validate(value: Any) -> tuple[str, ...]:
    """What is wrong with the value of a native file, place by place; nothing if it is valid."""
    import jsonschema

    validator = jsonschema.Draft202012Validator(schema())
    return tuple(
        sorted(f"{error.json_path}: {error.message}" for error in validator.iter_errors(value))
    )
