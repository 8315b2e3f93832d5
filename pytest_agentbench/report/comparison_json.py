"""A comparison and its verdict as plain JSON."""

from __future__ import annotations

import datetime
from typing import Any

from pytest_agentbench.plain import plain
from pytest_agentbench.report.verdict import Verdict

#: Raised when a field changes its meaning or goes.
SCHEMA_VERSION = "1.0"


def build(verdict: Verdict) -> dict[str, Any]:
    """As docs/ci.md describes it; the same verdict gives an equal result."""
    data: dict[str, Any] = _dated(plain(verdict))
    return {
        "schema": SCHEMA_VERSION,
        "result": verdict.result.value,
        "exit_code": verdict.exit_code,
        "broken": data["broken"],
        "doubts": data["doubts"],
        "rules": data["rules"],
        "expired": data["expired"],
        "comparison": data["comparison"],
    }


def _dated(value: Any) -> Any:
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _dated(item) for key, item in value.items()}
    return [_dated(item) for item in value] if isinstance(value, list) else value
