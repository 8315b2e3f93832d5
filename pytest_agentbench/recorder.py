"""Sees to it that every trial of this process ends in the ledger before it is reported."""

from __future__ import annotations

import re
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.bench import Bench
from pytest_agentbench.collect import Rest, TrialFailed, TrialItem, trial_of
from pytest_agentbench.execution import Execution
from pytest_agentbench.files import remove
from pytest_agentbench.fixtures import DRAFT, Draft
from pytest_agentbench.flag import Flag
from pytest_agentbench.grade import CheckResult, Grade
from pytest_agentbench.record import (
    PhaseFacts,
    PlannedTrial,
    Record,
    closed_line,
    plain,
    properties,
    summary,
)
from pytest_agentbench.report.artefacts import WORKSPACE, write_artefacts
from pytest_agentbench.report.ledger import unwritten
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.status import Status, TrialFault, status_of
from pytest_agentbench.text import encodable, escape
from pytest_agentbench.trial import Trial
from pytest_agentbench.turns import WAITED

RECORD = pytest.StashKey[Record]()
#: What pytest-timeout says, before and since 2.4.
_TIMEOUT = re.compile(r"Timeout \(?>[\d.]+s")
#: Characters of a line of a fault's message that are shown.
_WIDTH = 2000


class Recorder:
    """Lives in the process that runs the trials: a worker's, or the only one."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        # No agent is started once the run was told to stop.
        return True if isinstance(item, Rest) or item.session.shouldstop else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if isinstance(item, pytest.Function) and self._earlier(item):
            item.fixturenames = []  # nothing is set up, since the test is not called

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """A trial that ended in an earlier run of the same folder is reported, not run."""
        earlier = self._earlier(pyfuncitem)
        if earlier is None:
            return None
        if not earlier.passed:
            from pytest_agentbench.report.failure import failure_text

            assert earlier.grade is not None
            reason = failure_text(earlier.grade, earlier.status)
            raise TrialFailed(f"from an earlier run: {reason}")
        return True

    def _earlier(self, item: pytest.Item) -> Record | None:
        trial = trial_of(item)
        return self.bench.finished(trial) if trial else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        trial = trial_of(item)
        if trial is None:
            return (yield)
        error = call.excinfo.value if call.excinfo else None
        fault = error if isinstance(error, TrialFault) else None
        record: Record | None = None
        try:
            record = self._keep(item, trial, call, error)
        except (TrialFault, OSError) as problem:
            # What is not on the disk did not happen, and what runs now could not be kept either.
            item.session.shouldstop = unwritten(problem)
            fault = TrialFault(status_of(problem), unwritten(problem))
        report = yield
        if RECORD in item.stash:
            report.agentbench = summary(item.stash[RECORD])  # type: ignore[attr-defined]
        if record is not None and not record.graded and report.passed and call.when == "call":
            fault = TrialFault(record.status, record.message)  # a test caught what ended its agent
        if fault is not None:
            show(report, fault)
        if call.when == "call" and report.failed and not (record and record.graded):
            # A fault found while grading is shown where pytest shows faults: at setup. Every
            # report that reads pytest then tells it from an agent that failed.
            report.when = "setup"
        elif isinstance(error, TrialFailed):
            report.longrepr = str(error)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(self) -> Generator[None, Any, Any]:
        # One lone surrogate, which an agent's JSON may well hold, would end the worker.
        return encodable((yield))

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_runtest_metadata(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> dict[str, Any]:
        """Fields for pytest-json-report."""
        return {"agentbench": summary(item.stash[RECORD])} if RECORD in item.stash else {}

    def _keep(
        self,
        item: pytest.Item,
        trial: Trial,
        call: pytest.CallInfo[None],
        error: BaseException | None,
    ) -> Record | None:
        """The trial's record if this call ended it, now or in an earlier run; on the disk."""
        earlier = self.bench.finished(trial)
        if call.when == "teardown":
            if earlier is None and RECORD in item.stash:
                self._close(item, trial, error)
            return None
        if earlier is None and call.when == "setup" and error is None:
            return None
        record = earlier or self._record(item, trial, call, error)
        item.stash[RECORD] = record
        if call.when == "call" or error is not None:
            # Those of an earlier try are gone, should a plugin run the item again.
            others = [p for p in item.user_properties if not p[0].startswith("agentbench.")]
            item.user_properties[:] = [*others, *properties(record)]
        return record

    def _record(
        self,
        item: pytest.Item,
        trial: Trial,
        call: pytest.CallInfo[None],
        error: BaseException | None,
    ) -> Record:
        draft = item.stash.get(DRAFT, None) or Draft(trial=trial, bench=self.bench)
        if draft.grade is None and call.when == "call" and not isinstance(item, TrialItem):
            draft.grade = verdict_of_test(trial.scenario, error)
        status, message = ending(draft, error)
        if trial.key in self.bench.past.again:
            draft.flags.append(Flag.RERUN)
        if waited := item.stash.get(WAITED, None):
            draft.observed["waited"] = waited
        folder = self.bench.run_dir / "trials" / trial.key if self.bench.run_dir else None
        if folder is not None:
            write_artefacts(folder, draft.execution, draft.prompt)
            self._keep_workspace(draft, folder / WORKSPACE)
        record = build_record(draft, item.nodeid, status, message, call)
        if self.bench.ledger is not None:
            self.bench.ledger.append(record.to_json())
        self.bench.stops.after(record)
        return record

    def _keep_workspace(self, draft: Draft, into: Path) -> None:
        remove(into)  # of an earlier try
        passed = draft.grade is not None and draft.grade.passed
        which = self.bench.settings.keep_workspace
        wanted = which == "all" or (which == "failed" and not passed)
        if wanted and draft.workspace and draft.workspace.root.is_dir():
            from pytest_agentbench.report.kept import keep

            draft.observed["kept_workspace"] = plain(keep(draft.workspace.root, into))

    def _close(self, item: pytest.Item, trial: Trial, error: BaseException | None) -> None:
        draft = item.stash.get(DRAFT, None)
        survivors = tuple(draft.survivors) if draft else ()
        if error is not None:
            survivors += (f"teardown ended in {type(error).__name__}: {error}",)
        if self.bench.ledger is not None:
            # The score is safe already. Without this line, a teardown is not known to have ended.
            self.bench.ledger.append(closed_line(trial.key, survivors), wait=False)


def show(report: pytest.TestReport, fault: TrialFault) -> None:
    """Make the report one of ``fault``: a skip with its reason, or an error without traceback."""
    text = "\n".join(escape(line, _WIDTH) for line in str(fault).splitlines())
    if fault.status is Status.UNSUPPORTED:
        report.outcome, report.longrepr = "skipped", (*report.location[:1], 1, f"Skipped: {text}")
    else:
        report.outcome, report.longrepr = "failed", text


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


def verdict_of_test(scenario: Scenario, error: BaseException | None) -> Grade | None:
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
    )


def build_record(
    draft: Draft, node_id: str, status: Status, message: str, call: pytest.CallInfo[None]
) -> Record:
    trial = draft.trial
    execution = draft.execution or Execution(status=status)
    calls = len(execution.trace.calls)
    return PlannedTrial.of(trial, node_id).end(
        status,
        message=message,
        grade=draft.grade if status.policy.graded else None,
        steps=execution.trace.steps,
        tool_calls=calls,
        usage=execution.usage,
        started=execution.started or call.start,
        ended=time.time(),
        seconds=execution.seconds,
        phases=tuple(
            PhaseFacts(
                name=phase.name,
                status=execution.status,
                seconds=execution.seconds,
                limit=phase.seconds,
                steps=execution.trace.steps,
                tool_calls=calls,
                usage=execution.usage,
            )
            for phase in trial.phases
            if draft.execution is not None
        ),
        attempts=execution.attempts,
        time_limit=execution.time_limit,
        sandbox=draft.sandbox.name if draft.sandbox else "",
        enforced=dict(execution.enforced),
        flags=(*execution.flags, *draft.flags),
        observed={
            **draft.bench.observed(trial.runtime),
            **execution.observed,
            **draft.observed,
        },
    )
