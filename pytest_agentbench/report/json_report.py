"""``report.json``: the scoreboard and every planned trial as plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_agentbench.grade import Grade
from pytest_agentbench.record import SCHEMA_VERSION, PlannedTrial, Record, plain
from pytest_agentbench.report.plan import Plan
from pytest_agentbench.report.scoreboard import Scoreboard
from pytest_agentbench.scoring.intervals import LEVEL, RESAMPLES, SEED
from pytest_agentbench.status import Status

_GRADE = tuple(name for name in Grade.__dataclass_fields__ if name != "checks")


def build(scoreboard: Scoreboard, plan: Plan, records: Mapping[str, Record]) -> dict[str, Any]:
    """The report as docs/records.md describes it; the same input gives an equal result."""
    return {
        "schema": SCHEMA_VERSION,
        "profile": plan.profile,
        "view": plan.view,
        "intervals": {"level": LEVEL, "resamples": RESAMPLES, "seed": SEED},
        "rows": [plain(row) for row in scoreboard.rows],
        "strays": scoreboard.strays,
        "trials": [trial_row(trial, records.get(trial.key)) for trial in plan.trials],
    }


def trial_row(planned: PlannedTrial, record: Record | None) -> dict[str, Any]:
    """One item of ``trials``."""
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
        "status": Status.NOT_STARTED.value,
    }
    if record is None:
        return trial
    trial |= {
        "status": record.status.value,
        "message": record.message,
        "steps": record.steps,
        "tool_calls": record.tool_calls,
        "tokens": record.usage.total_tokens,
        "cost_usd": record.usage.cost_usd,
        "seconds": record.seconds,
        "started": record.started,
        "ended": record.ended,
        "sandbox": record.sandbox,
        "attempts": plain(record.attempts),
        "flags": list(record.flags),
        "closed": record.closed,
        "survivors": list(record.survivors),
    }
    if record.graded and record.grade is not None:
        trial["grade"] = _grade_row(record.grade)
    return trial


def _grade_row(grade: Grade) -> dict[str, Any]:
    row = {name: plain(getattr(grade, name)) for name in _GRADE}
    # Those that passed are many and say little.
    row["failed_checks"] = [plain(check) for check in grade.checks if not check.passed]
    return row
