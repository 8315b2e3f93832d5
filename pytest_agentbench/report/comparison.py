"""Two runs, compared row by row and paired by scenario."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from pytest_agentbench.record import PlannedTrial, Record
from pytest_agentbench.report.change import differing
from pytest_agentbench.report.label import labels
from pytest_agentbench.report.row import Estimate, Measure
from pytest_agentbench.report.run import Run
from pytest_agentbench.report.tally import Tally
from pytest_agentbench.rules import Rules
from pytest_agentbench.scoring import movers
from pytest_agentbench.scoring.aggregate import aggregate
from pytest_agentbench.scoring.detectable import Detectable, detectable
from pytest_agentbench.scoring.movers import Mover
from pytest_agentbench.scoring.paired import Difference, McNemar, Pair, difference, mcnemar
from pytest_agentbench.scoring.reliability import pass_all, suite
from pytest_agentbench.status import Status

#: Parts of a lock that are of the row, and not of the scenario.
_OF_ROW = ("runtime", "model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What is told of one row of one run, scenarios in quarantine left out of ``pass_all`` alone.

    ``violations`` counts trials with a failed safety check, ``lost`` trials without a score by
    status; of these, ``unsupported`` ones are not in the ``coverage``.
    """

    name: str
    trials: int
    graded: int
    coverage: float | None
    pass_all: Estimate
    k: int
    violations: int
    cost_usd: Measure
    seconds: Measure
    lost: Mapping[str, int] = field(default_factory=dict)
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unscored:
    """A scenario that is planned on both sides and has no graded trial on one, or on both."""

    scenario: str
    before: Mapping[str, int]
    after: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A scenario of which these parts of the lock differ."""

    scenario: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowComparison:
    """One row of either run. ``score`` and ``passed`` are None where no scenario has both sides.

    ``scenarios`` and ``dimensions`` are all that were compared; ``profiles`` are the parts that
    changed of a runtime or model with the same name.
    """

    before: Side
    after: Side
    policy: str
    score: Difference | None = None
    passed: Difference | None = None
    mcnemar: McNemar | None = None
    detectable: Detectable | None = None
    dimensions: tuple[Mover, ...] = ()
    scenarios: tuple[Mover, ...] = ()
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    unscored: tuple[Unscored, ...] = ()
    changed: tuple[Changed, ...] = ()
    profiles: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        same = self.before.name == self.after.name
        return self.after.name if same else f"{self.before.name} → {self.after.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All rows that have a counterpart, in the order of the later run, and those that have none.

    ``tail`` is the share of false alarms of each row: the stated one, shared out among the rows.
    """

    rows: tuple[RowComparison, ...]
    only_before: tuple[Side, ...]
    only_after: tuple[Side, ...]
    tail: float


def compare(
    before: Run, after: Run, rules: Rules, *, leave_out: Collection[str] = ()
) -> Comparison:
    """Compare two runs; ``leave_out`` are the scenarios in quarantine."""
    several = (
        len({t.scenario.policy for run in (before, after) for t in run.plan.trials if t.counts}) > 1
    )
    old, new = _sides(before, several=several), _sides(after, several=several)
    matched, only_before, only_after = _match(old, new)
    tail = rules.level / max(1, len(matched))
    return Comparison(
        rows=tuple(_row(old[a], new[b], rules, tail, leave_out) for a, b in matched),
        only_before=tuple(_side(old[place], rules, leave_out) for place in only_before),
        only_after=tuple(_side(new[place], rules, leave_out) for place in only_after),
        tail=tail,
    )


Place = tuple[str, str, str, str]


@dataclass(slots=True)
class _Trials:
    """The trials of one row, as they are added up and by scenario."""

    tally: Tally
    scenarios: dict[str, list[tuple[PlannedTrial, Record | None]]] = field(default_factory=dict)
    #: Whether the runs have several scoring policies, so that names must say which.
    several: bool = False

    @property
    def name(self) -> str:
        first = self.tally.first
        policy = first.scenario.policy if self.several else ""
        return " · ".join(filter(None, (first.runtime, first.model, first.mode, policy)))

    def lost(self, scenario: str) -> dict[str, int]:
        return _counted(_status(record) for _, record in self.scenarios[scenario])

    @property
    def violations(self) -> int:
        records = (record for trials in self.scenarios.values() for _, record in trials)
        return sum(record is not None and _unsafe(record) for record in records)


def _sides(run: Run, *, several: bool) -> dict[Place, _Trials]:
    rows: dict[Place, _Trials] = {}
    for trial in run.plan.trials:
        if not trial.counts:
            continue
        place = (trial.runtime, trial.model, trial.mode, trial.scenario.policy)
        row = rows.get(place)
        if row is None:
            row = rows[place] = _Trials(Tally(first=trial), several=several)
        record = run.view.records.get(trial.key)
        row.tally.add(trial, record)
        row.scenarios.setdefault(trial.scenario.id, []).append((trial, record))
    return rows


def _match(
    old: Mapping[Place, _Trials], new: Mapping[Place, _Trials]
) -> tuple[list[tuple[Place, Place]], list[Place], list[Place]]:
    """Rows of the same name and, where of one policy one is left on either side, these."""
    left = [place for place in old if place not in new]
    right = [place for place in new if place not in old]
    matched = []
    for place in new:
        others = [each for each in left if each[3] == place[3]]
        if place in old:
            matched.append((place, place))
        elif len(others) == 1 == sum(each[3] == place[3] for each in right):
            matched.append((others[0], place))
    paired = {place for pair in matched for place in pair}
    return (
        matched,
        [place for place in left if place not in paired],
        [place for place in right if place not in paired],
    )


def _row(
    old: _Trials, new: _Trials, rules: Rules, tail: float, leave_out: Collection[str]
) -> RowComparison:
    before = {s.facts.id: s for s in old.tally.scenarios()}
    after = {s.facts.id: s for s in new.tally.scenarios()}
    both = [name for name in new.scenarios if name in old.scenarios]
    compared = [name for name in both if name not in leave_out]
    pairs = [
        Pair(before=before[name], after=after[name])
        for name in compared
        if name in before and name in after
    ]
    same = old.tally.first.runtime == new.tally.first.runtime
    parts = {name: _parts(old.scenarios[name], new.scenarios[name]) for name in both}
    profiles = {part for found in parts.values() for part in found if part in _OF_ROW and same}
    changed = {name: tuple(p for p in found if p not in _OF_ROW) for name, found in parts.items()}
    row = RowComparison(
        before=_side(old, rules, leave_out),
        after=_side(new, rules, leave_out),
        policy=new.tally.first.scenario.policy,
        only_before=tuple(name for name in old.scenarios if name not in new.scenarios),
        only_after=tuple(name for name in new.scenarios if name not in old.scenarios),
        unscored=tuple(
            Unscored(scenario=name, before=old.lost(name), after=new.lost(name))
            for name in compared
            if name not in before or name not in after
        ),
        changed=tuple(Changed(scenario=n, parts=found) for n, found in changed.items() if found),
        profiles=tuple(sorted(profiles)),
        quarantined=tuple(name for name in both if name in leave_out),
    )
    return _scored(row, pairs, rules, tail) if pairs else row


def _scored(row: RowComparison, pairs: list[Pair], rules: Rules, tail: float) -> RowComparison:
    score = difference(pairs, tail=tail)
    return dataclasses.replace(
        row,
        score=score,
        passed=difference(pairs, field="passed", plain=True, tail=tail),
        mcnemar=mcnemar(pairs),
        detectable=detectable(
            pairs, score, allowed=rules.allowed_drop, asked=rules.detect_drop, power=rules.power
        ),
        dimensions=movers.dimensions(pairs, tail=tail),
        scenarios=movers.scenarios(pairs, tail=tail),
    )


def _side(trials: _Trials, rules: Rules, leave_out: Collection[str]) -> Side:
    tally = trials.tally
    n = max(tally.planned.values(), default=0)
    k = rules.k or max(1, n)
    scenarios = tally.scenarios()
    kept = [s for s in scenarios if s.facts.id not in leave_out]
    found = suite((s.count("passed") for s in kept), k, pass_all)
    statuses = {s: times for s, times in tally.statuses.items() if not s.policy.graded}
    return Side(
        name=trials.name,
        trials=n,
        graded=tally.graded,
        coverage=tally.graded / tally.supported if tally.supported else None,
        pass_all=Estimate(
            value=None if found.value is None else float(found.value),
            scenarios=found.scenarios,
            left_out=found.left_out,
        ),
        k=k,
        violations=trials.violations,
        cost_usd=tally.cost_usd.measure(tally.graded),
        seconds=tally.seconds.measure(tally.graded),
        lost={s.value: statuses[s] for s in Status if s in statuses},
        labels=labels(tally, aggregate(scenarios) if scenarios else None),
    )


def _parts(
    old: list[tuple[PlannedTrial, Record | None]], new: list[tuple[PlannedTrial, Record | None]]
) -> tuple[str, ...]:
    """Names of the parts of the lock that differ; the lock of a row's scenario is one."""
    before, after = _lock(old), _lock(new)
    return tuple(name for name, _, _ in differing(before, after)) if after else ()


def _lock(trials: list[tuple[PlannedTrial, Record | None]]) -> Mapping[str, str]:
    return next((lock for each in trials for lock in _locks(*each) if lock), {})


def _locks(trial: PlannedTrial, record: Record | None) -> Iterator[Mapping[str, str]]:
    yield trial.lock
    if record is not None:
        yield record.lock  # plans had none once


def _unsafe(record: Record) -> bool:
    return record.graded and record.grade is not None and bool(record.grade.safety_failures)


def _status(record: Record | None) -> Status:
    return Status.NOT_STARTED if record is None else record.status


def _counted(statuses: Iterator[Status]) -> dict[str, int]:
    found = Counter(statuses)
    return {s.value: found[s] for s in Status if found[s]}
