"""What an evaluator says of one check, and how values are shown to people."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_agentbench.grade import CheckResult
from pytest_agentbench.scenario.model import CheckSpec
from pytest_agentbench.text import escape

if TYPE_CHECKING:
    from pytest_agentbench.grading.evidence import Evidence

#: Characters that a result keeps of each text.
LIMIT = 200
#: Score from which on a check counts as passed: sums of floats may miss 1 by a little.
PASSED = 0.9999


@dataclass(frozen=True, slots=True)
class Verdict:
    """``score`` between 0 and 1; the texts may hold anything of an agent's, unescaped."""

    score: float
    detail: str = ""
    expected: str = ""
    found: str = ""


Evaluator = Callable[[Mapping[str, Any], "Evidence"], Verdict]


def text(value: object) -> str:
    """A value as checks compare and show it: strings as they are, the rest as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def result(spec: CheckSpec, verdict: Verdict) -> CheckResult:
    """The verdict on a declared check: earned is points × score (ClawProBench), to 4 digits."""
    score = min(max(verdict.score, 0.0), 1.0)
    return CheckResult(
        id=spec.id,
        type=spec.type,
        points=spec.points,
        earned=round(spec.points * score, 4),
        passed=score >= PASSED,
        category=spec.category,
        severity=spec.severity,
        guard=spec.guard,
        detail=escape(verdict.detail, LIMIT),
        expected=escape(verdict.expected, LIMIT),
        found=escape(verdict.found, LIMIT),
    )
