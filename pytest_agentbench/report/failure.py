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
    lines.append(
        f"C {grade.correctness:.3f}, P {grade.process:.3f}, gate {grade.gate:g}, "
        f"penalty {grade.penalty:.3f}"
        if grade.policy == "composite"
        else f"mean of checks {grade.correctness:.3f}"
    )
    if status is not Status.COMPLETED:
        lines.append(f"the agent ended with {status}" + (f": {escape(message)}" if message else ""))
    failed = sorted(grade.failed_checks, key=lambda check: check.earned - check.points)
    lines.extend(_line(check) for check in failed[:_MOST])
    if len(failed) > _MOST:
        lines.append(f"… and {len(failed) - _MOST} more checks failed")
    return "\n".join(lines)


def _line(check: CheckResult) -> str:
    kind = "" if check.category == "correctness" else f" ({check.category}, {check.severity})"
    text = f"✗ {check.id}{kind}: {check.earned:g} of {check.points:g}"
    if check.detail:
        text += f": {escape(check.detail)}"
    if check.expected or check.found:
        text += f"\n    expected {escape(check.expected)}\n    found    {escape(check.found)}"
    return text
