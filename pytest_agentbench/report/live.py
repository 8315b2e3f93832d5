"""Tells people how far a run is, beside what pytest prints."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Generator, Sequence
from typing import Any, TextIO

import pytest

from pytest_agentbench.bench import Bench
from pytest_agentbench.collect import trial_of
from pytest_agentbench.record import PlannedTrial
from pytest_agentbench.report.plan import PlanError, read_plan
from pytest_agentbench.report.progress import Kind, Progress, kind_of
from pytest_agentbench.text import escape

#: Seconds between two redrawings of the line on a terminal, and between two lines elsewhere.
_LIVE, _PLAIN = 0.5, 30.0
_CLEAR = "\r\x1b[K"
_TERMINAL = "terminalreporter"


class Live:
    """One line that is drawn again and again on a terminal, and now and then a line elsewhere.

    On a terminal it takes the place of pytest's dots, which are not printed then. Elsewhere its
    lines go to standard error, and pytest's own output is as ever.
    """

    def __init__(self, bench: Bench, kind: str) -> None:
        self._bench = bench
        self._live = kind == "live"
        # Standard output and error of our own: a test's output is caught by pytest.
        self._stream: TextIO = os.fdopen(os.dup(1 if self._live else 2), "w", errors="replace")
        self._progress: Progress | None = None
        self._facts: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    @staticmethod
    def kind(asked: str, verbose: int) -> str:
        """``live``, ``plain`` or ``off``, for what was asked for."""
        if asked != "auto":
            return asked
        terminal = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        # With -v, pytest has a line for each trial.
        return "live" if terminal and verbose <= 0 else "plain"

    @pytest.hookimpl(trylast=True)  # the plan must be there
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:
            ids = [item.nodeid for item in session.items if trial_of(item)]
            self._begin(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        with self._lock:
            if self._progress:
                self._progress.workers += 1
        self._begin(ids)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        with self._lock:
            if self._progress:
                self._progress.start(nodeid, time.monotonic())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._wipe()
        facts = getattr(report, "agentbench", None)
        with self._lock:
            if facts is not None:
                self._facts[report.nodeid] = facts

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        with self._lock:
            if self._progress:
                self._progress.end(nodeid, time.monotonic(), self._facts.pop(nodeid, None))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_teststatus(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> Generator[None, Any, Any]:
        category, letter, word = yield
        shown = self._live and getattr(report, "agentbench", None) is not None
        return (category, "", "") if shown else (category, letter, word)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()
        self._wipe()

    def pytest_unconfigure(self) -> None:
        self._over.set()
        with contextlib.suppress(OSError):
            self._stream.close()

    def _begin(self, ids: Sequence[str]) -> None:
        run_dir = self._bench.run_dir
        if self._progress or run_dir is None:
            return
        try:
            planned = {t.node_id: t for t in read_plan(run_dir / "plan.json").trials}
        except (PlanError, OSError):
            return
        done = set(self._bench.past.finished or ())
        mine = [t for name in ids if (t := planned.get(name)) and t.key not in done]
        if not mine:
            return
        self._progress = Progress(mine)
        if self._live and (terminal := self._bench.config.pluginmanager.get_plugin(_TERMINAL)):
            terminal.showfspath = False
        self._thread = threading.Thread(target=self._tell, daemon=True)
        self._thread.start()

    def _tell(self) -> None:
        every = _LIVE if self._live else _PLAIN
        assert self._progress
        known = None
        while not self._over.wait(every):
            if known is None:  # not before: a short run has no use for it
                known = self._progress.known = _earlier(self._bench, self._progress.trials)
            width = shutil.get_terminal_size((100, 24)).columns - 1
            with self._lock:
                line = self._progress.line(time.monotonic(), max(40, width) if self._live else 400)
            text = escape(line, 500)
            self._write(f"{_CLEAR}{text}" if self._live else f"agentbench: {text}\n")

    def _wipe(self) -> None:
        if self._live and self._progress:
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()


def _earlier(bench: Bench, trials: Sequence[PlannedTrial]) -> dict[Kind, float]:
    """Seconds that trials of these kinds took in the latest runs."""
    from statistics import fmean

    from pytest_agentbench.report.forecast import earlier

    kinds = {kind_of(trial) for trial in trials}
    took: dict[Kind, list[float]] = {}
    for record in earlier(bench.settings.project / "reports"):
        if kind_of(record) in kinds and record.ended > record.started:
            took.setdefault(kind_of(record), []).append(record.ended - record.started)
    return {kind: fmean(seconds) for kind, seconds in took.items()}
