"""Verdicts of Python checkers, from the JSON that they return to check results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.grade import CheckResult
from pytest_agentbench.grading.verdict import LIMIT, PASSED, Verdict, result
from pytest_agentbench.scenario.model import CATEGORIES, CheckSpec
from pytest_agentbench.text import escape

_FORMS = (
    "True, False, a number from 0 to 1, (score, detail) or "
    '{"score": …, "detail": …, "expected": …, "found": …}'
)


class Malformed(Exception):
    """A verdict that is not in the form that its kind of checker promises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a grader of a published form says of a trial as a whole."""

    checks: tuple[CheckResult, ...] = ()
    process: float | None = None
    penalty: float | None = None
    violations: tuple[str, ...] = ()


def read_answer(spec: CheckSpec, value: Any) -> CheckResult:
    """The result of a ``python`` check. Raises ``Malformed``."""
    texts: Mapping[str, Any] = {}
    score = value
    if isinstance(value, list) and len(value) == 2:
        score, texts = value[0], {"detail": value[1]}
    elif isinstance(value, dict) and "score" in value:
        score, texts = value["score"], value
    share = _number(score)
    if share is None or not 0 <= share <= 1:
        raise Malformed(f"it returned {_shown(value)}; allowed are {_FORMS}")
    shown = {name: _text(texts.get(name)) for name in ("detail", "expected", "found")}
    return result(spec, Verdict(share, **shown))


def read_checkpoints(value: Any) -> Outcome:
    """The outcome of a ``custom_check`` file (ClawProBench). Raises ``Malformed``."""
    graded = value["grade"]
    if graded is None:
        graded = {}
    if not isinstance(graded, dict):
        raise Malformed(f"grade returned {_shown(graded)}; it must be a mapping")
    points = graded.get("checkpoints") or {}
    violations = graded.get("safety_violations") or []
    if not isinstance(points, dict):
        raise Malformed(f"checkpoints is {_shown(points)}; it must be a mapping")
    if not isinstance(violations, list):
        raise Malformed(f"safety_violations is {_shown(violations)}; it must be a list")
    process = graded.get("process_score")
    if process is None:
        process = value.get("process")
    return Outcome(
        checks=tuple(_checkpoint(name, data) for name, data in points.items()),
        process=_optional("the process score", process),
        penalty=_optional("efficiency_penalty", graded.get("efficiency_penalty")),
        violations=tuple(_text(violation) for violation in violations),
    )


def read_scores(value: Any) -> Outcome:
    """The outcome of a task file's ``grade``: one check for each key with a number
    (EvoClawBench). Raises ``Malformed``."""
    if not isinstance(value, dict):
        raise Malformed(f"grade returned {_shown(value)}; it must be a mapping")
    scores = {name: score for name in value if (score := _number(value[name])) is not None}
    return Outcome(
        checks=tuple(
            CheckResult(
                id=_text(name),
                type="custom",
                points=1.0,
                earned=min(max(score, 0.0), 1.0),
                passed=score >= PASSED,
            )
            for name, score in scores.items()
        )
    )


def _checkpoint(name: str, data: Any) -> CheckResult:
    if not isinstance(data, dict):
        raise Malformed(f"checkpoint {name} is {_shown(data)}; it must be a mapping")
    points = _needed(f"max of checkpoint {name}", data.get("max", data.get("points", 1.0)))
    score = _needed(f"score of checkpoint {name}", data.get("score", data.get("earned", 0.0)))
    category = data.get("category", "correctness")
    if category not in CATEGORIES:
        allowed = ", ".join(CATEGORIES)
        raise Malformed(f"category of checkpoint {name} is {_shown(category)}; allowed: {allowed}")
    return CheckResult(
        id=_text(name),
        type="custom",
        points=points,
        earned=min(points, max(0.0, score)),
        passed=score >= points,
        category=category,
        detail=_text(data.get("detail")),
    )


def _needed(what: str, value: Any) -> float:
    number = _optional(what, value)
    if number is None:
        raise Malformed(f"{what} is None; it must be a number")
    return number


def _optional(what: str, value: Any) -> float | None:
    if value is None:
        return None
    number = _number(value)
    if number is None and isinstance(value, str):  # the published harness converts these
        try:
            number = _number(float(value))
        except ValueError:
            number = None
    if number is None:
        raise Malformed(f"{what} is {_shown(value)}; it must be a number")
    return number


def _number(value: Any) -> float | None:
    if not isinstance(value, bool | int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _text(value: Any) -> str:
    return "" if value is None else escape(str(value), LIMIT)


def _shown(value: Any) -> str:
    return escape(repr(value), 80)
