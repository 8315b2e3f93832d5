"""The numbers and texts of ``report.html`` as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_agentbench import __version__
from pytest_agentbench.plain import plain
from pytest_agentbench.record import SCHEMA_VERSION, PlannedTrial, Record
from pytest_agentbench.report.exhibit import Exhibit, exhibit
from pytest_agentbench.report.flat import status_of
from pytest_agentbench.report.pareto import front
from pytest_agentbench.report.reader import RunReader
from pytest_agentbench.report.row import Measure, Row
from pytest_agentbench.report.scoreboard import Scoreboard
from pytest_agentbench.scoring.draws import RESAMPLES, SEED
from pytest_agentbench.scoring.intervals import LEVEL

#: Characters that evidence of all trials may take, of one trial at most, and from which on it is
#: worth showing.
ROOM, MOST, LEAST = 6_000_000, 20_000, 200
_MESSAGE = 600
#: Columns of ``trials``; the page reads them by these names.
TRIAL = (
    *("row", "scenario", "index", "key", "status", "counts", "passed", "score"),
    *("correctness", "process", "gate", "penalty", "steps", "calls", "tokens", "cost", "seconds"),
    *("message", "flags", "attempts", "sub"),
)


class PageData:
    """Everything but the evidence, which is cut as the page has room for it."""

    def __init__(self, run: RunReader) -> None:
        self.rows: dict[tuple[str, ...], int] = {}
        self.versions: dict[int, dict[str, None]] = {}
        self.scenarios: dict[str, int] = {}
        self.facts: list[list[Any]] = []
        self.trials: list[list[Any]] = []
        self.exhibits: list[Exhibit] = []
        self.run = run
        planned = sum(1 for _ in run.file)
        self.room = min(MOST, ROOM // max(1, planned))
        for trial, record in run.counted():
            self._add(trial, record)

    def to_json(self, room: int) -> dict[str, Any]:
        """The data with ``room`` characters of evidence a trial; none below ``LEAST``."""
        board = self.run.scoreboard()
        skills = {"skills": list(_skills(board))} if board.skills else {}
        rubrics = {"rubrics": list(_rubrics(board))} if board.rubrics else {}
        return {
            "schema": SCHEMA_VERSION,
            "agentbench": __version__,
            "profile": self.run.plan.profile,
            "view": board.view,
            "strays": board.strays,
            "intervals": {"level": LEVEL, "resamples": RESAMPLES, "seed": SEED},
            "rows": list(self._rows(board)),
            "efforts": {name: _efforts(board.rows, name) for name in ("cost_usd", "steps")},
            "scenarios": self.facts,
            "columns": TRIAL,
            "trials": self.trials,
            "evidence": [e.within(room) for e in self.exhibits] if room >= LEAST else [],
            **skills,
            **rubrics,
        }

    def _add(self, trial: PlannedTrial, record: Record | None) -> None:
        place = (trial.runtime, trial.model, trial.mode, trial.scenario.policy)
        row = self.rows.setdefault(place, len(self.rows))
        scenario = trial.scenario
        if scenario.id not in self.scenarios:
            self.scenarios[scenario.id] = len(self.scenarios)
            facts = [scenario.id, scenario.name, scenario.dimension, scenario.difficulty]
            self.facts.append([*facts, scenario.family, list(scenario.tags)])
        status = status_of(record)
        known: list[Any] = [row, self.scenarios[scenario.id], trial.index, trial.key[:16]]
        known += [status.value, status.policy.counts]
        if record is None:
            self.trials.append(known)
        else:
            version = str(record.observed.get("runtime_version") or "")
            self.versions.setdefault(row, {}).setdefault(version)
            self.trials.append([*known, *_figures(record)])
        if self.room >= LEAST:
            self.exhibits.append(exhibit(self.run.folder, trial, record, self.room))

    def _rows(self, board: Scoreboard) -> Iterator[dict[str, Any]]:
        for number, row in enumerate(board.rows):
            versions = [name for name in self.versions.get(number, {}) if name]
            yield {**plain(row), "name": row.name, "supported": row.supported, "versions": versions}


def _figures(record: Record) -> list[Any]:
    grade = record.grade if record.graded else None
    scores: list[Any] = [None] * 6
    if grade is not None:
        scores = [grade.passed, grade.score, grade.correctness, grade.process]
        scores += [grade.gate, grade.penalty]
    return [
        *scores,
        *(record.steps, record.tool_calls, record.usage.total_tokens, record.usage.cost_usd),
        *(round(record.seconds, 3), record.message[:_MESSAGE]),
        [*record.flags, *(grade.flags if grade else ()), *(["survivors"] * bool(record.survivors))],
        [[attempt.status.value, attempt.message[:_MESSAGE]] for attempt in record.attempts],
        dict(grade.sub_problems) if grade else {},
    ]


def _skills(board: Scoreboard) -> Iterator[dict[str, Any]]:
    """What each mode has beside the baseline, with the number of its row; scenarios are counted."""
    places = {(r.runtime, r.model, r.mode, r.policy): n for n, r in enumerate(board.rows)}
    for each in board.skills:
        row = places[each.runtime, each.model, each.mode, each.policy]
        yield {**plain(each), "row": row, "scenarios": len(each.scenarios)}


def _rubrics(board: Scoreboard) -> Iterator[dict[str, Any]]:
    """What rubrics say of a row, with its number."""
    places = {(r.runtime, r.model, r.mode, r.policy): n for n, r in enumerate(board.rows)}
    for each in board.rubrics:
        row = places[each.runtime, each.model, each.mode, each.policy]
        yield {**plain(each), "row": row}


def _efforts(rows: Sequence[Row], name: str) -> list[list[Any]]:
    """Of each row for which both are known: its number, effort, score, and whether no other row
    of its scoring policy has more score for less."""
    known: dict[str, list[tuple[int, float, float]]] = {}
    for number, row in enumerate(rows):
        measure: Measure = getattr(row, name)
        if measure.mean is not None and row.score is not None:
            known.setdefault(row.policy, []).append((number, measure.mean, row.score))
    found = []
    for points in known.values():
        best = front([(effort, score) for _, effort, score in points])
        found += [[*point, on] for point, on in zip(points, best, strict=True)]
    return sorted(found)
