"""Scenarios that are run and count nowhere, such as one that asks whether a runtime answers at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.record import PlannedTrial, Record
from pytest_agentbench.report.figures import many, wrap
from pytest_agentbench.report.row import Row, UncountedScenario
from pytest_agentbench.text import escape


@dataclass(slots=True)
class Uncounted:
    """The trials of such scenarios in one row so far."""

    _planned: Counter[str] = field(default_factory=Counter)
    _graded: Counter[str] = field(default_factory=Counter)
    _passed: Counter[str] = field(default_factory=Counter)

    def add(self, trial: PlannedTrial, record: Record | None) -> None:
        """Take in a trial that does not count."""
        name = trial.scenario.id
        self._planned[name] += 1
        self._graded[name] += record is not None and record.graded
        self._passed[name] += record is not None and record.passed

    def rows(self) -> tuple[UncountedScenario, ...]:
        """In the order of the plan."""
        return tuple(
            UncountedScenario(
                scenario=name, trials=trials, graded=self._graded[name], passed=self._passed[name]
            )
            for name, trials in self._planned.items()
        )


def uncounted_lines(names: Sequence[str], rows: Sequence[Row], width: int) -> Iterator[str]:
    """What these did, since no figure of the scoreboard holds it."""
    if not any(row.uncounted for row in rows):
        return
    yield ""
    yield "run, and in no figure above"
    for name, row in zip(names, rows, strict=True):
        told = [
            f"{escape(each.scenario)} passed {each.passed} of {many(each.trials, 'trial')}"
            + (f" ({each.graded} graded)" if each.graded < each.trials else "")
            for each in row.uncounted
        ]
        if told:
            yield from wrap(f"{name}: {', '.join(told)}", width)
