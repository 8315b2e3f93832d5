"""What the records of a run add up to."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from pytest_agentbench.flag import Flag
from pytest_agentbench.record import PlannedTrial, Record
from pytest_agentbench.report.costly import costly_checks
from pytest_agentbench.report.plan import Plan
from pytest_agentbench.report.row import (
    DimensionRow,
    Estimate,
    Fault,
    Measure,
    Row,
)
from pytest_agentbench.scoring.aggregate import (
    Outcome,
    OverallScore,
    ScenarioScore,
    aggregate,
    final,
    interval,
)
from pytest_agentbench.scoring.reliability import Estimator, pass_all, pass_at, suite
from pytest_agentbench.status import Status

#: Characters of a message that a row keeps.
_SAMPLE = 300

Trials = Sequence[tuple[PlannedTrial, Record | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoreboard:
    """All rows in the order of the plan.

    ``strays`` counts records of trials that are not planned (any more): they count nowhere.
    """

    rows: tuple[Row, ...] = ()
    strays: int = 0


def scoreboard(
    plan: Plan, records: Mapping[str, Record], *, k_values: Sequence[int] | None = None
) -> Scoreboard:
    """The scoreboard of ``plan`` given one record a key.

    ``k_values`` are the k of pass@k, pass^k and strict^k; by default 1 to the number of trials.
    Planned trials without a record count as ``not_started``. The same plan and records always
    give the same scoreboard.
    """
    groups: dict[tuple[str, ...], list[tuple[PlannedTrial, Record | None]]] = {}
    for trial in plan.trials:
        place = (trial.runtime, trial.model, trial.mode, trial.scenario.policy)
        groups.setdefault(place, []).append((trial, records.get(trial.key)))
    planned = {trial.key for trial in plan.trials}
    return Scoreboard(
        rows=tuple(_row(trials, bool(plan.profile), k_values) for trials in groups.values()),
        strays=sum(key not in planned for key in records),
    )


def _row(trials: Trials, whole_profile: bool, k_values: Sequence[int] | None) -> Row:
    first = trials[0][0]
    statuses = Counter(_status(record) for _, record in trials)
    unsupported = statuses[Status.UNSUPPORTED]
    supported = [pair for pair in trials if _status(pair[1]) is not Status.UNSUPPORTED]
    graded = [record for _, record in supported if record is not None and record.graded]
    scenarios = scenario_scores(supported, lost=None)
    n = max(Counter(t.scenario.id for t, _ in supported).values(), default=0)
    overall = aggregate(scenarios) if scenarios else None
    bounds = scenario_scores(supported, lost=Outcome(score=0.0, capability=0.0, passed=False))
    row = Row(
        runtime=first.runtime,
        adapter=first.adapter,
        model=first.model,
        mode=first.mode,
        policy=first.scenario.policy,
        scripted=any(t.scripted for t, _ in trials) or any(r.scripted for r in graded),
        replayed=any(t.replayed for t, _ in trials) or any(r.replayed for r in graded),
        scenarios=len({t.scenario.id for t, _ in trials}),
        trials=n,
        planned=len(trials),
        graded=len(graded),
        unsupported=unsupported,
        passed=sum(record.passed for record in graded),
        reruns=sum(bool(record.attempts) for record in graded),
        statuses={status.value: statuses[status] for status in Status if statuses[status]},
        faults=_faults(trials),
        coverage=len(graded) / len(supported) if supported else None,
        lower=aggregate(bounds).score if bounds else None,
        sandboxes=_counts(r.sandbox for _, r in trials if r is not None and r.sandbox),
        flags=_counts(flag for _, r in trials if r is not None for flag in _flags(r)),
        labels=_labels(len(supported), graded, overall),
        conformance=_conformance(graded),
    )
    if overall is None:
        return row
    ks = range(1, n + 1) if k_values is None else k_values
    whole = whole_profile and row.graded == row.planned
    left_out = len(bounds) - len(scenarios)
    return dataclasses.replace(
        row,
        **_scores(scenarios, overall),
        **_reliability(scenarios, left_out, ks, n),
        **_measures(graded),
        final=final(scenarios, whole_profile=whole),
        costly=costly_checks(scenarios, graded),
    )


def _scores(scenarios: Sequence[ScenarioScore], overall: OverallScore) -> dict[str, Any]:
    return {
        "score": overall.score,
        "interval": interval(scenarios, [s.mean("score") for s in scenarios]),
        "capability": overall.capability,
        "covered_weight": overall.covered if overall.by_dimension else None,
        "strict": fmean(s.mean("strict") for s in scenarios),
        "loose": fmean(s.mean("loose") for s in scenarios),
        "spread": fmean(s.spread for s in scenarios),
        "dimensions": _dimensions(scenarios, overall),
    }


def _reliability(
    scenarios: Sequence[ScenarioScore], left_out: int, ks: Sequence[int], n: int
) -> dict[str, Any]:
    """``left_out`` scenarios have no graded trial; intervals are for k = 1 and k = ``n``."""

    def estimates(field: str, estimator: Estimator) -> dict[int, Estimate]:
        return {k: _estimate(scenarios, field, estimator, k, left_out, k in (1, n)) for k in ks}

    return {
        "pass_at": estimates("passed", pass_at),
        "pass_all": estimates("passed", pass_all),
        "strict_all": estimates("strict", pass_all),
        "any_passed": _proportion(scenarios, [s.any_passed for s in scenarios]),
        "all_passed": _proportion(scenarios, [s.all_passed for s in scenarios]),
    }


def _measures(graded: Sequence[Record]) -> dict[str, Any]:
    return {
        "steps": _measure(graded, lambda r: r.steps),
        "tool_calls": _measure(graded, lambda r: r.tool_calls),
        "tokens": _measure(graded, lambda r: r.usage.total_tokens),
        "cost_usd": _measure(graded, lambda r: r.usage.cost_usd),
        "seconds": _measure(graded, lambda r: r.seconds),
    }


def _status(record: Record | None) -> Status:
    return Status.NOT_STARTED if record is None else record.status


def scenario_scores(trials: Trials, *, lost: Outcome | None) -> list[ScenarioScore]:
    """Outcomes by scenario in the order of the plan; ``lost`` stands for trials without score."""
    facts = {trial.scenario.id: trial.scenario for trial, _ in trials}
    outcomes: dict[str, list[Outcome]] = {}
    for trial, record in trials:
        outcome = lost
        if record is not None and record.graded and record.grade is not None:
            grade = record.grade
            outcome = Outcome(
                score=grade.score,
                capability=grade.capability,
                passed=grade.passed,
                strict=grade.strict,
                loose=grade.loose,
            )
        if outcome is not None:
            outcomes.setdefault(trial.scenario.id, []).append(outcome)
    return [ScenarioScore(facts=facts[id_], outcomes=tuple(o)) for id_, o in outcomes.items()]


def _estimate(
    scenarios: Sequence[ScenarioScore],
    field: str,
    estimator: Estimator,
    k: int,
    left_out: int,
    with_interval: bool,
) -> Estimate:
    mean = suite((s.count(field) for s in scenarios), k, estimator)
    known = [s for s in scenarios if len(s.outcomes) >= k]
    values = [float(estimator(*s.count(field), k) or 0) for s in known]
    return Estimate(
        value=None if mean.value is None else float(mean.value),
        interval=interval(known, values, plain=True) if with_interval and known else None,
        scenarios=mean.scenarios,
        left_out=mean.left_out + left_out,
    )


def _proportion(scenarios: Sequence[ScenarioScore], values: Sequence[bool]) -> Estimate:
    return Estimate(
        value=fmean(values),
        interval=interval(scenarios, [float(value) for value in values], plain=True),
        scenarios=len(scenarios),
    )


def _measure(records: Sequence[Record], value: Callable[[Record], float | None]) -> Measure:
    known = [found for record in records if (found := value(record)) is not None]
    return Measure(mean=fmean(known) if known else None, known=len(known), trials=len(records))


def _dimensions(
    scenarios: Sequence[ScenarioScore], overall: OverallScore
) -> tuple[DimensionRow, ...]:
    trials = Counter[str]()
    for s in scenarios:
        trials[s.facts.dimension] += len(s.outcomes)
    return tuple(
        DimensionRow(
            name=d.name,
            scenarios=d.scenarios,
            graded=trials[d.name],
            score=d.score,
            capability=d.capability,
            pass_at_1=d.pass_at_1,
        )
        for d in overall.dimensions
    )


def _faults(trials: Trials) -> tuple[Fault, ...]:
    messages: dict[Status, list[str]] = {}
    for _, record in trials:
        status = _status(record)
        if not status.policy.graded:
            messages.setdefault(status, []).append(record.message if record else "")
    return tuple(
        Fault(
            status=status.value,
            counts=status.policy.counts,
            times=len(messages[status]),
            message=next(filter(None, messages[status]), "")[:_SAMPLE],
        )
        for status in Status
        if status in messages
    )


def _flags(record: Record) -> list[str]:
    grade = record.grade
    flags = [*record.flags, *(grade.flags if grade else ())]
    flags += [flag for check in (grade.checks if grade else ()) for flag in check.flags]
    flags += [Flag.SURVIVORS] if record.survivors else []
    return list(dict.fromkeys(flags))


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _labels(
    supported: int, graded: Sequence[Record], overall: OverallScore | None
) -> tuple[str, ...]:
    if len(graded) < supported:
        labels = ["incomplete"]
    else:
        rerun = any(record.attempts for record in graded)
        labels = ["clean_after_rerun" if rerun else "clean"]
    if overall is not None and overall.subset:
        labels.append("subset")
    if any(record.lock.get("timeout_multiplier", "1.0") != "1.0" for record in graded):
        labels.append("non-standard limits")
    if found := _conformance(graded):
        labels.append(f"conformant {found['passed']}/{found['clauses']}")
    return tuple(labels)


def _conformance(graded: Sequence[Record]) -> Mapping[str, Any]:
    """What the records have, if it is the same in all."""
    found: list[Mapping[str, Any]] = [r.observed.get("conformance") or {} for r in graded]
    return found[0] if found and all(each == found[0] for each in found) else {}
