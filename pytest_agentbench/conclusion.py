"""How a trial ended, as pytest saw it: status, verdict, record."""

from __future__ import annotations

import re
import time

import pytest

from pytest_agentbench.draft import Draft
from pytest_agentbench.execution import Execution
from pytest_agentbench.grade import CheckResult, Grade, RubricGrade
from pytest_agentbench.phase_record import judged_before
from pytest_agentbench.record import PlannedTrial, Record
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.status import Status, TrialFault, status_of

#: What pytest-timeout says, before and since 2.4.
_TIMEOUT = re.compile(r"Timeout \(?>[\d.]+s")


def ending(draft: Draft, error: BaseException | None) -> tuple[Status, str]:
    """Status and message of a trial whose setup or call ended, in ``error`` if not None."""
    if isinstance(error, TrialFault):
        return error.status, str(error)
    if isinstance(error, pytest.skip.Exception):
        return Status.UNSUPPORTED, str(error)
    if draft.grade is not None and draft.execution is not None:
        return draft.execution.status, draft.execution.message
    if draft.grade is not None:
        return Status.COMPLETED, ""
    if error is None:
        return Status.HARNESS_ERROR, "the trial ended without a grade"
    return status_of(error), f"{type(error).__name__}: {error}"


def verdict_of_test(
    scenario: Scenario, error: BaseException | None, rubric: RubricGrade | None = None
) -> Grade | None:
    """A Python test is one check: its own verdict. None when pytest itself ended it."""
    ended_by_pytest = isinstance(error, pytest.fail.Exception) and _TIMEOUT.match(str(error))
    if ended_by_pytest or isinstance(error, TrialFault | pytest.skip.Exception):
        return None
    if error is not None and status_of(error) is Status.NO_SPACE:
        return None
    passed = error is None
    text = "" if passed else f"{type(error).__name__}: {error}"[:500]
    check = CheckResult(
        id="test", type="test", points=1.0, earned=float(passed), passed=passed, detail=text
    )
    share = float(passed)
    return Grade(
        policy=scenario.policy,
        threshold=scenario.threshold,
        checks=(check,),
        correctness=share,
        capability=share,
        score=share,
        loose=share,
        strict=passed,
        passed=passed,
        rubric=rubric,
    )


def build_record(
    draft: Draft, node_id: str, status: Status, message: str, call: pytest.CallInfo[None]
) -> Record:
    trial = draft.trial
    execution = draft.execution or Execution(status=status)
    return PlannedTrial.of(trial, node_id).end(
        status,
        message=message,
        grade=draft.grade if status.policy.graded else None,
        steps=execution.trace.steps,
        tool_calls=len(execution.trace.calls),
        usage=execution.usage,
        started=execution.started or call.start,
        ended=time.time(),
        seconds=execution.seconds,
        phases=tuple(draft.phases),
        attempts=execution.attempts,
        time_limit=execution.time_limit,
        sandbox=draft.sandbox.name if draft.sandbox else "",
        enforced=dict(execution.enforced),
        flags=(*execution.flags, *draft.flags),
        observed={
            **draft.bench.observed(trial.runtime),
            **execution.observed,
            **judged_before(draft.observed, draft.phases),
        },
    )
