"""The verdicts on a rubric's criteria by their checks."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_agentbench.grade import CheckResult, CriterionVerdict
from pytest_agentbench.scenario.rubric import Criterion, Rubric


def checked(rubric: Rubric, results: Mapping[str, CheckResult]) -> tuple[CriterionVerdict, ...]:
    """The verdicts; ``results`` are those of the checks, by id."""
    return tuple(_by_check(each, results[each.check.id]) for each in rubric.criteria if each.check)


def _by_check(criterion: Criterion, result: CheckResult) -> CriterionVerdict:
    good = result.passed is not criterion.penalized
    return CriterionVerdict.of(
        criterion,
        result.passed,
        source="check",
        reason="" if good else result.reason,
        flags=result.flags,
    )
