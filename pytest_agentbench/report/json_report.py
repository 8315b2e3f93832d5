"""``report.json``: the scoreboard and every planned trial as plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_agentbench.record import SCHEMA_VERSION, PlannedTrial, Record, plain
from pytest_agentbench.report.plan import Plan
from pytest_agentbench.report.scoreboard import Scoreboard
from pytest_agentbench.scoring.intervals import LEVEL, RESAMPLES, SEED
from pytest_agentbench.status import Status


def build(scoreboard: Scoreboard, plan: Plan, records: Mapping[str, Record]) -> dict[str, Any]:
    """The report as docs/records.md describes it; the same input gives an equal result."""
    return {
        "schema": SCHEMA_VERSION,
        "profile": plan.profile,
        "view": plan.view,
        "intervals": {"level": LEVEL, "resamples": RESAMPLES, "seed": SEED},
        "rows": [plain(row) for row in scoreboard.rows],
        "strays": scoreboard.strays,
        "trials": [_trial(trial, records.get(trial.key)) for trial in plan.trials],
    }


def _trial(planned: PlannedTrial, record: Record | None) -> dict[str, Any]:
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
        "flags": plain(record.flags),
        "closed": record.closed,
        "survivors": plain(record.survivors),
    }
    if record.graded and record.grade is not None:
        grade = plain(record.grade)
        checks = grade.pop("checks")
        grade["failed_checks"] = [check for check in checks if not check["passed"]]
        trial["grade"] = grade
    return trial
