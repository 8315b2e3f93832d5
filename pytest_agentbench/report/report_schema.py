"""The JSON Schema (2020-12) of ``report.json``, for those who read it with other programs."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def schema() -> dict[str, Any]:
    """The schema of the version that this package writes."""
    text = resources.files("pytest_agentbench.report").joinpath("report.schema.json")
    value: dict[str, Any] = json.loads(text.read_text("utf-8"))
    return value
