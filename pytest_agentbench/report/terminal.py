"""What the controller does around the trials: header, matrix, scoreboard, exit code."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_agentbench import place
from pytest_agentbench.collect import trial_of
from pytest_agentbench.flag import Flag
from pytest_agentbench.offers import sections
from pytest_agentbench.record import PlannedTrial
from pytest_agentbench.report import comparison_json
from pytest_agentbench.report.baseline import GATE, read_baseline
from pytest_agentbench.report.comparison_text import render as render_gate
from pytest_agentbench.report.json_report import build
from pytest_agentbench.report.ledger import LedgerView, read, unwritten
from pytest_agentbench.report.plan import Plan, alone, read_plan, write_json
from pytest_agentbench.report.run import Run, RunError
from pytest_agentbench.report.scoreboard import Scoreboard, scoreboard
from pytest_agentbench.report.terminal_text import render
from pytest_agentbench.report.verdict import judge, utc_day
from pytest_agentbench.status import Status, TrialFault

if TYPE_CHECKING:
    from pytest_agentbench.bench import Bench

#: Beyond pytest's own 0-5: a runtime that was asked for is not installed.
EXIT_RUNTIME_MISSING = 11


class Reporter:
    """Lives in the controller only. The ledger, not what passed through here, is the truth."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.selected: list[str] = []
        self.crashed: set[str] = set()
        self.other_failures = False
        self.missing: set[str] = set()
        #: Of each runtime that is missing, the trial with which that is told.
        self.told: dict[str, str] = {}
        self.started: set[str] = set()
        #: Trials that another invocation runs, or has run.
        self.elsewhere: set[str] = set()
        self.problem = ""
        self.gate_lines: list[str] = []
        self.board: Scoreboard | None = None

    def pytest_report_header(self) -> list[str]:
        settings = self.bench.settings
        if not settings.runtimes:
            return []
        models = [model.name for model in settings.models]
        parts = [
            "runtimes " + ", ".join(profile.name for profile in settings.runtimes),
            "models " + ", ".join(models) if models else "",
            "modes " + ", ".join(settings.modes),
            f"trials {settings.trials}",
        ]
        choice = self.bench.sandbox_choice
        lines = [
            "agentbench: " + "; ".join(part for part in parts if part),
            f"agentbench: sandbox {choice.name} ({choice.reason})",
        ]
        if settings.jury and (panel := self.bench.judges.panel):
            from pytest_agentbench.report.judges_text import judged_by

            told = judged_by(panel, settings.models, settings.project)
            lines += [f"agentbench: {line}" for line in told]
        if self.bench.run_dir is not None:
            lines.append(f"agentbench: run folder {self._shown_run_dir()}")
        if self.bench.reaped:
            lines.append(f"agentbench: ended what a killed run had left: {self.bench.reaped}")
        return lines

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["agentbench_run_dir"] = str(self.bench.run_dir or "")
        gateway = self.bench.gateway if self.bench.run_dir else None
        node.workerinput["agentbench_gateway"] = str(gateway.control) if gateway else ""
        node.workerinput["agentbench_shared"] = str(self.bench.shared if self.bench.run_dir else "")
        node.workerinput["agentbench_rest"] = self.bench.config.option.dist == "load"

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, error: object) -> None:
        if error:
            from pytest_agentbench.sandbox import leftovers

            leftovers.reap()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        if config.option.dist != "load":
            return None
        from pytest_agentbench.schedule import OneAtATime

        return OneAtATime(config, log, self.bench.caps())

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self.selected = list(ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:
            self.selected = [item.nodeid for item in session.items]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        settings = self.bench.settings
        if not settings.dry_run or session.testsfailed:
            return None
        trials = [trial for item in session.items if (trial := trial_of(item))]
        reports = settings.project / "reports"
        from pytest_agentbench.report.forecast import earlier, forecast

        for line in (*matrix(session.items), *forecast(trials, earlier(reports))):
            self._write(line)
        return True

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.started.add(nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.other_failures |= report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "agentbench_elsewhere"):
            self.elsewhere.add(report.nodeid)
            return
        facts = getattr(report, "agentbench", None)
        if report.when not in ("setup", "call", "teardown"):
            self.crashed.add(report.nodeid)
        elif facts is None or report.when == "teardown":
            self.other_failures |= report.failed
        elif facts["status"] == Status.RUNTIME_MISSING:
            self.missing.add(facts["runtime"])

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> tuple[str, str, tuple[str, Mapping[str, bool]]] | None:
        """A runtime that is missing, or stopped, is told of once and not for each of its trials."""
        facts = getattr(report, "agentbench", None)
        if facts is None or report.when != "setup" or not report.failed:
            return None
        missing = facts["status"] == Status.RUNTIME_MISSING
        first = self.told.setdefault(facts["runtime"], report.nodeid) if missing else ""
        if facts["status"] == Status.NOT_STARTED or (missing and first != report.nodeid):
            return "not_started", "-", ("NOT STARTED", {"yellow": True})
        return None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        run_dir = self.bench.run_dir
        refused = session.exitstatus == pytest.ExitCode.USAGE_ERROR
        if refused or run_dir is None or not (run_dir / "plan.json").exists():
            return
        planned = read_plan(run_dir / "plan.json")
        view = read(run_dir / "ledger.jsonl")
        try:
            with alone(run_dir):  # of those that share the folder, the last one's report stands
                self._end_open_trials(planned, view)
                planned, view = read_plan(run_dir / "plan.json"), read(run_dir / "ledger.jsonl")
                self.board = scoreboard(planned, view.records)
                write_json(run_dir / "report.json", build(self.board, planned, view.records))
        except (OSError, TrialFault) as error:
            self.board = scoreboard(planned, view.records)
            self.problem = unwritten(error)
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
            return
        self.crashed -= {trial.node_id for trial in planned.trials}
        nothing = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        if nothing and self.bench.settings.shard and planned.trials:
            session.exitstatus = pytest.ExitCode.OK  # the others have all of them
        failed = session.exitstatus == pytest.ExitCode.TESTS_FAILED
        if not failed and session.exitstatus != pytest.ExitCode.OK:
            return
        code = self._gate_code(Run(folder=run_dir, plan=planned, view=view))
        if failed and self.missing:
            session.exitstatus = EXIT_RUNTIME_MISSING
        elif code is not None and not (self.other_failures or self.crashed):
            session.exitstatus = code

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.board is None:
            return
        terminalreporter.section("agentbench scoreboard")
        width = shutil.get_terminal_size((100, 24)).columns
        shown = render(self.board, width=min(max(width, 60), 140))
        added = sections(self.bench.config, self.board)
        for line in (*shown, *(line for text in added for line in text.splitlines())):
            terminalreporter.write_line(line)
        if self.gate_lines:
            terminalreporter.section("agentbench gate")
            for line in self.gate_lines:
                terminalreporter.write_line(line)
        if self.elsewhere:
            terminalreporter.write_line(
                f"\nagentbench: left to others that share the run folder: {len(self.elsewhere)} of "
                "these trials; run again with the same --run-dir should they not end"
            )
        if self.problem:
            terminalreporter.write_line(f"\nagentbench: {self.problem}", red=True)
        else:
            folder = shlex.quote(self._shown_run_dir())
            terminalreporter.write_line(f"\nas a page: agentbench report {folder} --format html")

    def _gate_code(self, run: Run) -> int | None:
        """The exit code that the gate gives to trials that failed; None for pytest's own."""
        gate = self.bench.settings.gate
        if gate.baseline is None:
            return 0 if gate.name == "none" else None
        try:
            verdict = judge(read_baseline(gate.baseline), run, gate.rules, today=utc_day())
        except RunError as error:
            self.problem = f"{gate.where}: {error}"
            return 1
        width = min(max(shutil.get_terminal_size((100, 24)).columns, 60), 140)
        self.gate_lines = render_gate(verdict, width=width)
        write_json(run.folder / GATE, comparison_json.build(verdict))
        return verdict.exit_code

    def _end_open_trials(self, planned: Plan, view: LedgerView) -> int:
        """A record for each trial of this session that has none; how many those were."""
        selected = set(self.selected)
        times, mine = self.bench.past.times, self.started - self.elsewhere
        open_trials = [
            trial
            for trial in planned.trials
            if trial.node_id in selected
            and len(view.history.get(trial.key, ())) <= times.get(trial.key, 0)
            and (trial.key not in view.records or trial.node_id in self.crashed)
            and (self.bench.settings.claim is None or trial.node_id in mine)
        ]
        for trial in open_trials:
            if trial.node_id in self.crashed:
                self._append(trial, Status.WORKER_LOST, "the worker process died")
            else:
                begun = trial.node_id in self.started
                self._append(trial, Status.INTERRUPTED if begun else Status.NOT_STARTED)
        return len(open_trials)

    def _append(self, trial: PlannedTrial, status: Status, message: str = "") -> None:
        now = time.time()
        flags = (Flag.RERUN,) if trial.key in self.bench.past.again else ()
        record = trial.end(status, message=message, started=now, ended=now, flags=flags)
        assert self.bench.ledger is not None
        self.bench.ledger.append(record.to_json())

    def _shown_run_dir(self) -> str:
        assert self.bench.run_dir is not None
        return place.told(self.bench.run_dir)

    def _write(self, line: str) -> None:
        terminal = self.bench.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.write_line(line)


def matrix(items: Sequence[pytest.Item]) -> list[str]:
    """The planned trials as text: one line a scenario, and the totals."""
    rows: dict[str, list[str]] = {}
    seconds = 0.0
    for item in items:
        trial = trial_of(item)
        if trial is not None:
            rows.setdefault(trial.scenario.id, []).append(trial.label)
            seconds += sum(phase.seconds for phase in trial.phases)
    width = max(map(len, rows), default=0)
    lines = [f"{name:<{width}}  {' '.join(labels)}" for name, labels in rows.items()]
    total = sum(map(len, rows.values()))
    totals = (
        f"{total} trials of {len(rows)} scenarios; the agents' time limits add up to "
        f"{seconds / 3600:.1f} h; nothing was started"
    )
    return ["", *lines, totals]
