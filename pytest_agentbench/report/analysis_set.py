"""An analysis set: the rows of any number of runs, with the grades behind them."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from pytest_agentbench.grade import Grade
from pytest_agentbench.record import Record, ScenarioFacts
from pytest_agentbench.report.run import Run, RunError, read_run
from pytest_agentbench.report.scoreboard import scoreboard
from pytest_agentbench.scoring.aggregate import Outcome, ScenarioScore, aggregate
from pytest_agentbench.scoring.formulas import Formula


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What makes two rows the same thing, measured again.

    ``version`` is that of the runtime as it was found; ``label`` how far its makers knew the
    scenarios, "" where nobody said.
    """

    profile: str
    runtime: str
    version: str
    model: str
    mode: str
    policy: str
    label: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """What its name is made of; each may be empty."""
        runtime = self.runtime if "@" in self.runtime or not self.version else None
        shown = runtime or f"{self.runtime}@{self.version}"
        return (self.profile, shown, self.model, self.mode, self.label)

    @property
    def name(self) -> str:
        return " · ".join(filter(None, self.parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of one run: its grades by scenario, in the order of the plan.

    ``score``, ``lower``, ``strict`` and ``coverage`` are the scoreboard's; ``started`` is the Unix
    time of its first trial.
    """

    identity: Identity
    run: str
    started: float
    score: float
    lower: float
    coverage: float
    facts: Mapping[str, ScenarioFacts]
    grades: Mapping[str, tuple[Grade, ...]] = field(repr=False)
    statuses: Mapping[str, int] = field(default_factory=dict)

    @property
    def date(self) -> str:
        return time.strftime("%Y-%m-%d", time.gmtime(self.started))

    @property
    def trials(self) -> int:
        """Of the scenario that has fewest."""
        return min(map(len, self.grades.values()))

    def overall(self, formula: Formula) -> float:
        """The overall score as the policy aggregates it, were ``formula`` the trial's score."""
        return aggregate(
            [
                ScenarioScore(
                    facts=self.facts[name],
                    outcomes=tuple(
                        Outcome(
                            score=formula(grade), capability=grade.capability, passed=grade.passed
                        )
                        for grade in grades
                    ),
                )
                for name, grades in self.grades.items()
            ]
        ).score

    def mean(self, scenario: str) -> float:
        """Mean score of a scenario over its trials."""
        return fmean(grade.score for grade in self.grades[scenario])


def read_set(folders: Sequence[Path]) -> tuple[Entry, ...]:
    """The rows of all runs in ``folders``, in their order; a folder may hold run folders.

    Rows without a grade are left out. Raises ``RunError``, also where there is no run at all.
    """
    runs = [read_run(folder) for given in folders for folder in _runs(given)]
    return tuple(entry for run in runs for entry in _entries(run))


def _runs(given: Path) -> list[Path]:
    if (given / "plan.json").is_file():
        return [given]
    found = sorted(path.parent for path in given.glob("*/plan.json"))
    if not found:
        raise RunError(f"{given} is no run folder and holds none; give folders of runs")
    return found


def _entries(run: Run) -> Iterable[Entry]:
    board = scoreboard(run.plan, run.view.records)
    for row in board.rows:
        records = [
            record
            for trial in run.plan.trials
            if (trial.runtime, trial.model, trial.mode) == (row.runtime, row.model, row.mode)
            and trial.scenario.policy == row.policy
            and trial.counts
            and (record := run.view.records.get(trial.key)) is not None
        ]
        graded = [record for record in records if record.graded]
        if not graded or row.score is None:
            continue
        grades: dict[str, tuple[Grade, ...]] = {}
        for record in graded:
            assert record.grade is not None
            grades[record.scenario.id] = (*grades.get(record.scenario.id, ()), record.grade)
        yield Entry(
            identity=Identity(
                profile=run.plan.profile,
                runtime=row.runtime,
                version=_most(graded, "runtime_version"),
                model=row.model,
                mode=row.mode,
                policy=row.policy,
                label=_most(graded, "exposure"),
            ),
            run=run.folder.name,
            started=min(record.started for record in graded),
            score=row.score,
            lower=row.lower or 0.0,
            coverage=row.coverage or 0.0,
            facts={record.scenario.id: record.scenario for record in graded},
            grades=grades,
            statuses=dict(row.statuses),
        )


def _most(records: Sequence[Record], name: str) -> str:
    """What most records have observed of that name; of equals, the first in order."""
    counts = Counter(str(record.observed.get(name, "")) for record in records)
    return min(counts, key=lambda value: (-counts[value], value))


def by_policy(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Those whose scores mean the same, in the order of the policies' names."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.identity.policy, []).append(entry)
    return dict(sorted(found.items()))


def common(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries over the scenarios that all of them have."""
    shared = set.intersection(*(set(entry.grades) for entry in entries)) if entries else set()
    return tuple(
        dataclasses.replace(
            entry, grades={name: g for name, g in entry.grades.items() if name in shared}
        )
        for entry in entries
        if shared
    )
