"""Writes down what the conformance suite found, and says it below the tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_agentbench import __version__
from pytest_agentbench.conformance.clauses import CLAUSES
from pytest_agentbench.conformance.result import Outcome, Result, Verdict, write
from pytest_agentbench.status import Status

if TYPE_CHECKING:
    import pytest

#: Of a test's report: ``clause``, ``runtime``, ``adapter``, and what was found of the runtime.
PROPERTY = "agentbench.conformance"
_WIDTH = 2000
_WORKER = re.compile(r"\A\[gw\d+\] [^\n]*\n")


class Conformance:
    """Lives in the controller only; idle where no test of the suite runs.

    ``place`` is a file, or a folder for a file of each runtime.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.facts: dict[str, dict[str, Any]] = {}
        self.verdicts: dict[str, dict[str, Verdict]] = {}
        self.written: list[tuple[Result, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        facts: Any = dict(report.user_properties).get(PROPERTY)
        if not isinstance(facts, dict):
            return
        runtime, clause = facts["runtime"], facts["clause"]
        self.facts[runtime] = self.facts.get(runtime, {}) | facts
        known = self.verdicts.setdefault(runtime, {})
        if outcome := _outcome(report):
            known[clause] = Verdict(clause=clause, outcome=outcome, detail=_detail(report))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if any(f.get("problem") == Status.RUNTIME_MISSING for f in self.facts.values()):
            from pytest_agentbench.report.terminal import EXIT_RUNTIME_MISSING

            session.exitstatus = EXIT_RUNTIME_MISSING
        results = list(self._results())
        for result in results:
            path, is_file = self.place, self.place.suffix == ".json"
            if not is_file or len(results) > 1:
                path = (path.with_suffix("") if is_file else path) / result.file_name
            try:
                write(path, result)
                said = str(path)
            except OSError as error:
                said = f"not written: {path}: {error.strerror}"
            self.written.append((result, said))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.written:
            return
        terminalreporter.section("agentbench conformance")
        for result, said in self.written:
            name = f"{result.runtime} {result.version}".strip()
            idle = sum(v.outcome == "not applicable" for v in result.verdicts)
            left = sum(v.outcome == "not run" for v in result.verdicts)
            more = f", {idle} not applicable" * bool(idle) + f", {left} not run" * bool(left)
            terminalreporter.write_line(
                f"{name}: {result.passed} of {result.clauses} clauses hold{more}"
            )
            if result.failed:
                terminalreporter.write_line(f"  broken: {', '.join(result.failed)}")
            terminalreporter.write_line(f"  {said}")

    def _results(self) -> Iterator[Result]:
        for runtime, facts in self.facts.items():
            if "version" not in facts:
                continue  # it was not found, so there is nothing to say of it
            known = self.verdicts[runtime]
            yield Result(
                runtime=runtime,
                adapter=facts["adapter"],
                version=facts["version"],
                digest=facts["digest"],
                plugin=__version__,
                sandbox=facts["sandbox"],
                verdicts=tuple(
                    known.get(clause) or Verdict(clause=clause, outcome="not run")
                    for clause in CLAUSES
                ),
            )


def _outcome(report: pytest.TestReport) -> Outcome | None:
    """None for a phase that says nothing."""
    if report.failed:
        return "failed"
    if report.skipped:
        return "not applicable"
    return "passed" if report.when == "call" else None


def _detail(report: pytest.TestReport) -> str:
    if report.passed:
        return ""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    # xdist puts a line with the name of its worker first.
    return _WORKER.sub("", report.longreprtext)[:_WIDTH]
