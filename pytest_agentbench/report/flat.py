"""One flat row a trial: the columns of CSV and Parquet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.grade import Grade
from pytest_agentbench.record import PlannedTrial, Record
from pytest_agentbench.status import Status

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column with the type of its values, any of which may be None."""

    name: str
    kind: type
    of: Callable[[PlannedTrial, Record | None], Value]


def row(trial: PlannedTrial, record: Record | None) -> list[Value]:
    """The values of ``COLUMNS``. Texts may be an agent's."""
    return [column.of(trial, record) for column in COLUMNS]


def status_of(record: Record | None) -> Status:
    return Status.NOT_STARTED if record is None else record.status


def _planned(name: str, kind: type) -> Column:
    return Column(name, kind, lambda trial, _: getattr(trial, name))


def _fact(name: str, kind: type) -> Column:
    return Column(name, kind, lambda trial, _: getattr(trial.scenario, name))


def _record(name: str, kind: type) -> Column:
    return Column(name, kind, lambda _, record: getattr(record, name) if record else None)


def _usage(name: str, kind: type) -> Column:
    return Column(name, kind, lambda _, record: getattr(record.usage, name) if record else None)


def _graded(name: str, kind: type, of: Callable[[Grade], Any]) -> Column:
    def value(_: PlannedTrial, record: Record | None) -> Any:
        return of(record.grade) if record and record.graded and record.grade else None

    return Column(name, kind, value)


def _grade(name: str, kind: type) -> Column:
    return _graded(name, kind, lambda grade: getattr(grade, name))


def _rubric(name: str) -> Column:
    def value(grade: Grade) -> float | None:
        return getattr(grade.rubric, name) if grade.rubric else None

    return _graded(name, float, value)


def _of(name: str, kind: type, of: Callable[[Record], Value]) -> Column:
    return Column(name, kind, lambda _, record: of(record) if record else None)


COLUMNS: tuple[Column, ...] = (
    _planned("key", str),
    _planned("node_id", str),
    Column("scenario", str, lambda trial, _: trial.scenario.id),
    *(_fact(name, str) for name in ("name", "dimension", "difficulty")),
    _fact("weight", float),
    *(_fact(name, str) for name in ("family", "policy")),
    *(_planned(name, str) for name in ("runtime", "adapter", "model", "mode")),
    _planned("index", int),
    *(_planned(name, bool) for name in ("scripted", "replayed")),
    Column("status", str, lambda _, record: status_of(record).value),
    Column("counts", str, lambda _, record: status_of(record).policy.counts),
    _record("message", str),
    *(_grade(name, bool) for name in ("passed", "strict")),
    *(_grade(name, float) for name in ("score", "threshold", "capability", "correctness")),
    *(_grade(name, float) for name in ("process", "gate", "penalty", "loose")),
    *(_rubric(name) for name in ("completion_loose", "completion_strict")),
    *(_rubric(name) for name in ("process_loose", "process_strict", "gated")),
    _graded("checks", int, lambda grade: len(grade.checks)),
    _graded("failed_checks", str, lambda grade: " ".join(c.id for c in grade.failed_checks)),
    *(_record(name, int) for name in ("steps", "tool_calls")),
    *(_usage(name, int) for name in Usage.__dataclass_fields__ if name != "cost_usd"),
    Column("tokens", int, lambda _, record: record.usage.total_tokens if record else None),
    _usage("cost_usd", float),
    *(_record(name, float) for name in ("started", "ended", "seconds")),
    _of("attempts", int, lambda record: len(record.attempts)),
    _record("sandbox", str),
    _of("flags", str, lambda record: " ".join(record.flags)),
    _record("closed", bool),
    _of("survivors", int, lambda record: len(record.survivors)),
)
