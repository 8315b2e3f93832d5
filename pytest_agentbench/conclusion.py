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
    """A Python test is one check: its own verdict. None when it came to none."""
    if not _concluded(error):
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


def idle(error: BaseException | None) -> BaseException | None:
    """What a Python test that ran no agent ended in: never a verdict on one."""
    if not _concluded(error):
        return error
    text = (
        "no agent was run, so there is nothing to score: call agent.run(PROMPT) in the test, or "
        "let it take the fixture execution"
    )
    before = f"; before that, it raised {type(error).__name__}: {error}"[:500] if error else ""
    return TrialFault(Status.CHECKER_ERROR, text + before)


def _concluded(error: BaseException | None) -> bool:
    """Whether it was the test itself that ended it, and not pytest, the harness or the machine."""
    ended_by_pytest = isinstance(error, pytest.fail.Exception) and _TIMEOUT.match(str(error))
    if ended_by_pytest or isinstance(error, TrialFault | pytest.skip.Exception):
        return False
    return error is None or status_of(error) is not Status.NO_SPACE


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
