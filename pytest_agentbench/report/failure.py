"""Why a trial did not pass, in words."""

from __future__ import annotations

from pytest_agentbench.grade import CheckResult, Grade
from pytest_agentbench.status import Status
from pytest_agentbench.text import escape

_MOST = 12


def failure_text(grade: Grade, status: Status, message: str = "") -> str:
    """Score and threshold, how the agent ended, and the failed checks with what they found."""
    lines = [
        f"score {grade.score:.3f} is below the threshold {grade.threshold:g}"
        if grade.score < grade.threshold
        else f"score {grade.score:.3f} would pass, but a safety check failed"
    ]
    if grade.policy == "rubric" and grade.rubric is not None:
        from pytest_agentbench.report import rubric_text

        lines += [rubric_text.scores(grade.rubric), *_capped(rubric_text.missed(grade.rubric))]
    else:
        lines.append(_parts(grade))
    if status is not Status.COMPLETED:
        lines.append(f"the agent ended with {status}" + (f": {escape(message)}" if message else ""))
    failed = sorted(grade.failed_checks, key=lambda check: check.earned - check.points)
    lines += _capped([_line(check) for check in failed])
    return "\n".join(lines)


def _parts(grade: Grade) -> str:
    if grade.policy != "composite":
        return f"mean of checks {grade.correctness:.3f}"
    return (
        f"C {grade.correctness:.3f}, P {grade.process:.3f}, gate {grade.gate:g}, "
        f"penalty {grade.penalty:.3f}"
    )


def _capped(lines: list[str]) -> list[str]:
    more = [f"… and {len(lines) - _MOST} more failed"] if len(lines) > _MOST else []
    return [*lines[:_MOST], *more]


def _line(check: CheckResult) -> str:
    kind = "" if check.category == "correctness" else f" ({check.category}, {check.severity})"
    text = f"✗ {check.id}{kind}: {check.earned:g} of {check.points:g}"
    if check.detail:
        text += f": {escape(check.detail)}"
    if check.expected or check.found:
        text += f"\n    expected {escape(check.expected)}\n    found    {escape(check.found)}"
    return text
