"""The verdicts on a rubric's criteria: by their checks, by a judge."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_agentbench.grade import CheckResult, CriterionVerdict, RubricGrade
from pytest_agentbench.grading import deliverable
from pytest_agentbench.grading.evidence import Evidence
from pytest_agentbench.scenario.rubric import Criterion, Rubric
from pytest_agentbench.scoring.rubric import grade_rubric, idle_verdicts


def judged(rubric: Rubric, results: Mapping[str, CheckResult], evidence: Evidence) -> RubricGrade:
    """What the rubric says of ``evidence``; ``results`` are those of its checks, by id.

    Nobody is asked about an agent that did nothing and left nothing.
    """
    if not evidence.trace.acted and not deliverable.deliverable(evidence):
        return grade_rubric(rubric, idle_verdicts(rubric))
    open_ = sum(each.check is None for each in rubric.criteria)
    message = f"{open_} criteria of its rubric are a judge's, and there is no judge"
    return grade_rubric(rubric, _checked(rubric, results), message=message if open_ else "")


def _checked(rubric: Rubric, results: Mapping[str, CheckResult]) -> tuple[CriterionVerdict, ...]:
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
