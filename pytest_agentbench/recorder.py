"""Sees to it that every trial of this process ends in the ledger before it is reported."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.bench import Bench
from pytest_agentbench.collect import ELSEWHERE, Rest, TrialFailed, TrialItem, trial_of
from pytest_agentbench.conclusion import build_record, ending, idle, verdict_of_test
from pytest_agentbench.draft import Draft
from pytest_agentbench.files import remove
from pytest_agentbench.fixtures import DRAFT
from pytest_agentbench.flag import Flag
from pytest_agentbench.plain import plain
from pytest_agentbench.planner import CLAIMS
from pytest_agentbench.record import (
    Record,
    closed_line,
    properties,
    summary,
)
from pytest_agentbench.redaction import Redactor
from pytest_agentbench.report.cleaning import clean
from pytest_agentbench.report.ledger import unwritten
from pytest_agentbench.status import Status, TrialFault, status_of
from pytest_agentbench.text import encodable, escape
from pytest_agentbench.trial import Trial
from pytest_agentbench.turns import WAITED

RECORD = pytest.StashKey[Record]()
#: Characters of a line of a fault's message that are shown.
_WIDTH = 2000


class Recorder:
    """Lives in the process that runs the trials: a worker's, or the only one."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.redactor = Redactor.here()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        # No agent is started once the run was told to stop.
        return True if isinstance(item, Rest) or item.session.shouldstop else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        idle = item.stash.get(ELSEWHERE, False) or self._earlier(item)
        if isinstance(item, pytest.Function) and idle:
            item.fixturenames = []  # nothing is set up, since the test is not called

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """A trial that ended in an earlier run of the same folder is reported, not run."""
        if pyfuncitem.stash.get(ELSEWHERE, False):
            pytest.skip("left to another invocation that shares the run folder")
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
        if item.stash.get(ELSEWHERE, False):
            left = yield
            left.agentbench_elsewhere = True  # type: ignore[attr-defined]
            return left
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
            # A conftest.py may have its own `execution`, which need not go by the record.
            if draft.runs or "execution" in getattr(item, "funcargs", {}):
                draft.grade = verdict_of_test(trial.scenario, error, draft.rubric)
            else:
                error = idle(error)
        status, message = ending(draft, error)
        if trial.key in self.bench.past.again:
            draft.flags.append(Flag.RERUN)
        if waited := item.stash.get(WAITED, None):
            draft.observed["waited"] = waited
        folder = self.bench.run_dir / "trials" / trial.key if self.bench.run_dir else None
        claims = item.config.stash.get(CLAIMS, None)
        lost = claims is not None and not claims.holds(trial.key)
        if lost:  # taken for dead, and run by another: what is written here is the other's
            folder = None
        if folder is not None:
            self._keep_workspace(draft, folder)
        record = build_record(draft, item.nodeid, status, message, call)
        record = clean(record, self.redactor)
        if folder is not None:
            self._keep_evidence(draft, record, folder)
        if self.bench.ledger is not None and not lost:
            if draft.made:
                record = self._keep_skills(draft, record)
            self.bench.ledger.append(record.to_json())
            for journal in draft.journals if record.graded else ():
                with contextlib.suppress(OSError):  # the score is safe
                    journal.finish()
        self.bench.stops.after(record)
        return record

    def _keep_skills(self, draft: Draft, record: Record) -> Record:
        """Put what agents made into the library; that it cannot be is told and no trial's fault."""
        try:
            self.bench.shelf.add(draft.trial, record, draft.made, self.redactor)
        except (OSError, TrialFault) as error:
            told = self.redactor.text(f"skills are not in the library: {error}")
            return dataclasses.replace(record, observed={**record.observed, "library": told})
        return record

    def _keep_evidence(self, draft: Draft, record: Record, folder: Path) -> None:
        from pytest_agentbench.report.artefacts import contents, write_artefacts

        try:
            changed, text = draft.changes()
        except (OSError, TrialFault) as error:
            changed, text = (), f"# unknown: {error}\n"
        docket = draft.docket
        judging = docket.to_json() if docket and docket.brief else None
        files = contents(record, draft.execution, draft.prompt, changed, text, judging)
        write_artefacts(folder, files, self.redactor)

    def _keep_workspace(self, draft: Draft, folder: Path) -> None:
        from pytest_agentbench.report.artefacts import WORKSPACE

        into = folder / WORKSPACE
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
