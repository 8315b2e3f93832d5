"""What each failed check took from the score of its trial."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from pytest_agentbench.grade import CheckResult, Grade
from pytest_agentbench.scoring.composite import CORRECTNESS_WEIGHT, PROCESS_WEIGHT, clamp


def losses(grade: Grade, *, native: bool) -> tuple[tuple[CheckResult, float], ...]:
    """Each failed check with the part of the score, in [0, 1], that it alone cost.

    A check is charged the points that it did not earn (a guard: that it took away) by their
    share of C or P, before gate and penalty; failed safety checks share equally what the gate
    took. The parts need not sum to what is missing: C stops at 0, and guards can overshoot.
    """
    safety, process, rest = _parted(grade.checks)
    if grade.policy != "composite":
        return _charge(rest + process, 1.0, by_points=False)
    gated = _gated(grade, [c for c in safety if not c.passed])
    if not native or all(c.guard for c in process):
        return gated + _charge(rest + process, CORRECTNESS_WEIGHT)  # the default formula gives P
    return gated + _charge(rest, CORRECTNESS_WEIGHT) + _charge(process, PROCESS_WEIGHT)


def _parted(checks: Sequence[CheckResult]) -> tuple[list[CheckResult], ...]:
    """Those of safety, of process, and the rest."""
    safety, process, rest = [], [], []
    for check in checks:
        if check.category == "safety":
            safety.append(check)
        elif check.category == "process":
            process.append(check)
        else:
            rest.append(check)
    return safety, process, rest


def _gated(grade: Grade, failed: Sequence[CheckResult]) -> tuple[tuple[CheckResult, float], ...]:
    if not failed:
        return ()
    whole = CORRECTNESS_WEIGHT * grade.correctness + PROCESS_WEIGHT * grade.process
    return tuple((check, whole * (1 - grade.gate) / len(failed)) for check in failed)


def _charge(
    checks: Sequence[CheckResult], weight: float, *, by_points: bool = True
) -> tuple[tuple[CheckResult, float], ...]:
    failed = [c for c in checks if not c.passed and c.points > 0]
    if not failed:
        return ()
    total = fsum([c.points if by_points else 1.0 for c in checks if not c.guard])
    if total <= 0:
        return ()
    charged = []
    for check in failed:
        missing = 1.0 if check.guard else clamp(1 - check.earned / check.points)
        points = check.points if by_points else 1.0
        charged.append((check, clamp(weight * missing * points / total)))
    return tuple(charged)
