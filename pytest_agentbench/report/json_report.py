"""``report.json``: the scoreboard and every planned trial as plain JSON."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from operator import attrgetter
from shutil import copyfileobj
from typing import Any, BinaryIO

from pytest_agentbench.grade import Grade, RubricGrade
from pytest_agentbench.plain import plain
from pytest_agentbench.record import SCHEMA_VERSION, PlannedTrial, Record
from pytest_agentbench.report.encoding import compact
from pytest_agentbench.report.plan import Plan
from pytest_agentbench.report.reader import RunReader
from pytest_agentbench.report.replaced import pieces
from pytest_agentbench.report.scoreboard import Scoreboard
from pytest_agentbench.scoring.draws import RESAMPLES, SEED
from pytest_agentbench.scoring.intervals import LEVEL
from pytest_agentbench.status import Status

_GRADE = tuple(name for name in Grade.__dataclass_fields__ if name not in ("checks", "rubric"))
_of_grade = attrgetter(*_GRADE)
_RUBRIC = tuple(name for name in RubricGrade.__dataclass_fields__ if name != "verdicts")
_VERDICT = ("id", "kind", "category", "met", "level", "gatekeeper", "must", "reason")
#: What a report says of its schema where it has ``skills`` or ``rubrics``.
_WITH_MORE = "1.1"


def build(scoreboard: Scoreboard, plan: Plan, records: Mapping[str, Record]) -> dict[str, Any]:
    """The report as docs/records.md describes it; the same input gives an equal result."""
    trials = [plain(trial_row(trial, records.get(trial.key))) for trial in plan.trials]
    return {**_head(scoreboard, plan), "trials": trials}


def _head(scoreboard: Scoreboard, plan: Plan) -> dict[str, Any]:
    head = {
        "schema": SCHEMA_VERSION,
        "profile": plan.profile,
        "view": plan.view,
        "intervals": {"level": LEVEL, "resamples": RESAMPLES, "seed": SEED},
        "rows": [plain(row) for row in scoreboard.rows],
        "strays": scoreboard.strays,
    }
    more = {"skills": scoreboard.skills, "rubrics": scoreboard.rubrics}
    for name, rows in more.items():
        if rows:
            head |= {"schema": _WITH_MORE, name: [plain(each) for each in rows]}
    return head


def write(run: RunReader, out: BinaryIO) -> None:
    """What ``write_json`` makes of ``build``, without holding it. Raises ``RunError``."""
    with tempfile.TemporaryFile(buffering=1 << 20) as trials:  # the rows stand before them
        separator = b"[\n"
        for trial, record in run.counted():
            trials.write(separator + compact(trial_row(trial, record)))
            separator = b",\n"
        trials.write(b"\n]" if separator == b",\n" else b"[]")
        trials.seek(0)
        data = {**_head(run.scoreboard(), run.plan), "trials": None}
        out.write(b"{\n")
        for place, key in enumerate(sorted(data)):
            out.write(b",\n" if place else b"")
            if key == "trials":
                out.write(b'"trials": ')
                copyfileobj(trials, out, 1 << 20)
            else:
                out.writelines(pieces(key, data[key]))
        out.write(b"\n}\n")


def trial_row(planned: PlannedTrial, record: Record | None) -> dict[str, Any]:
    """One item of ``trials``, as ``compact`` takes it: with tuples and dataclasses."""
    trial: dict[str, Any] = {
        "key": planned.key,
        "node_id": planned.node_id,
        "scenario": planned.scenario.id,
        "runtime": planned.runtime,
        "model": planned.model,
        "mode": planned.mode,
        "index": planned.index,
        "scripted": planned.scripted,
        "replayed": planned.replayed,
        "status": Status.NOT_STARTED,
    }
    if record is None:
        return trial
    trial |= {
        "status": record.status,
        "message": record.message,
        "steps": record.steps,
        "tool_calls": record.tool_calls,
        "tokens": record.usage.total_tokens,
        "cost_usd": record.usage.cost_usd,
        "seconds": record.seconds,
        "started": record.started,
        "ended": record.ended,
        "sandbox": record.sandbox,
        "attempts": record.attempts,
        "flags": record.flags,
        "closed": record.closed,
        "survivors": record.survivors,
    }
    if record.graded and record.grade is not None:
        trial["grade"] = _grade_row(record.grade)
    return trial


def _grade_row(grade: Grade) -> dict[str, Any]:
    row = dict(zip(_GRADE, _of_grade(grade), strict=True))
    row["failed_checks"] = grade.failed_checks  # those that passed are many and say little
    row["rubric"] = None if grade.rubric is None else _rubric_row(grade.rubric)
    return row


def _rubric_row(rubric: RubricGrade) -> dict[str, Any]:
    row = {name: getattr(rubric, name) for name in _RUBRIC}
    row["missed"] = [
        {name: getattr(verdict, name) for name in _VERDICT}
        for verdict in rubric.verdicts
        if verdict.met is not None and verdict.level < 1
    ]
    return row
