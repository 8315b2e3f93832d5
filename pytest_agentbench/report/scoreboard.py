"""What the records of a run add up to."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pytest_agentbench.record import PlannedTrial, Record
from pytest_agentbench.report.label import labels
from pytest_agentbench.report.plan import Plan
from pytest_agentbench.report.row import DimensionRow, Estimate, Row, ViewScore
from pytest_agentbench.report.tally import Tally
from pytest_agentbench.scoring import composite
from pytest_agentbench.scoring.aggregate import (
    OverallScore,
    ScenarioScore,
    aggregate,
    final,
)
from pytest_agentbench.scoring.clusters import Clusters
from pytest_agentbench.scoring.draws import Draws
from pytest_agentbench.scoring.intervals import Interval
from pytest_agentbench.scoring.reliability import Estimator, pass_all, pass_at, suite
from pytest_agentbench.status import Status
from pytest_agentbench.views import DEFAULT_VIEW, VIEWS

if TYPE_CHECKING:
    from pytest_agentbench.report.rubric_rows import RubricRow
    from pytest_agentbench.report.skill_comparison import SkillComparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoreboard:
    """All rows in the order of the plan.

    ``strays`` counts records of trials that are not planned (any more): they count nowhere.
    ``view`` is the plan's, reported first. ``skills`` has the rows of other modes than the baseline
    against it, in their order, and ``rubrics`` those of whose trials any has a rubric.
    """

    rows: tuple[Row, ...] = ()
    strays: int = 0
    view: str = DEFAULT_VIEW
    skills: tuple[SkillComparison, ...] = ()
    rubrics: tuple[RubricRow, ...] = ()


def scoreboard(
    plan: Plan, records: Mapping[str, Record], *, k_values: Sequence[int] | None = None
) -> Scoreboard:
    """The scoreboard of ``plan`` given one record a key.

    ``k_values`` are the k of pass@k, pass^k and strict^k; by default 1 to the number of trials.
    Planned trials without a record count as ``not_started``. The same plan and records always
    give the same scoreboard.
    """
    rows = Rows()
    planned = set()
    for trial in plan.trials:
        rows.add(trial, records.get(trial.key))
        planned.add(trial.key)
    strays = sum(key not in planned for key in records)
    return rows.scoreboard(plan, strays=strays, k_values=k_values)


@dataclass(slots=True)
class Rows:
    """The rows of a scoreboard while trials are added, in the order of the plan."""

    tallies: dict[tuple[str, ...], Tally] = field(default_factory=dict)

    def add(self, trial: PlannedTrial, record: Record | None) -> None:
        place = (trial.runtime, trial.model, trial.mode, trial.scenario.policy)
        tally = self.tallies.get(place)
        if tally is None:
            tally = self.tallies[place] = Tally(first=trial)
        tally.add(trial, record)

    def scoreboard(
        self, plan: Plan, *, strays: int, k_values: Sequence[int] | None = None
    ) -> Scoreboard:
        """``plan`` says what is known of the whole; its trials are those that were added."""
        draws, whole = Draws(), bool(plan.profile)
        rows = [_row(tally, whole, k_values, draws) for tally in self.tallies.values()]
        return Scoreboard(
            rows=tuple(rows),
            strays=strays,
            view=plan.view,
            skills=self._skills(),
            rubrics=self._rubrics(),
        )

    def _skills(self) -> tuple[SkillComparison, ...]:
        if all(tally.first.mode == "baseline" for tally in self.tallies.values()):
            return ()
        from pytest_agentbench.report.skill_comparison import comparisons

        return comparisons(tuple(self.tallies.values()))

    def _rubrics(self) -> tuple[RubricRow, ...]:
        if not any(tally.rubric.trials for tally in self.tallies.values()):
            return ()
        from pytest_agentbench.report.rubric_rows import rubric_rows

        return rubric_rows(tuple(self.tallies.values()))


def _row(tally: Tally, whole_profile: bool, k_values: Sequence[int] | None, draws: Draws) -> Row:
    first, supported = tally.first, tally.supported
    scenarios, bounds = tally.scenarios(), tally.bounds()
    n = max(tally.planned.values(), default=0)
    digits = composite.PLACES if tally.published else None
    overall = aggregate(scenarios, digits=digits) if scenarios else None
    lower = aggregate(bounds).score if bounds else None
    row = Row(
        runtime=first.runtime,
        adapter=first.adapter,
        model=first.model,
        mode=first.mode,
        policy=first.scenario.policy,
        scripted=tally.scripted,
        replayed=tally.replayed,
        scenarios=len(tally.facts),
        trials=n,
        planned=tally.statuses.total(),
        graded=tally.graded,
        unsupported=tally.statuses[Status.UNSUPPORTED],
        passed=tally.passed,
        reruns=tally.reruns,
        statuses={s.value: tally.statuses[s] for s in Status if tally.statuses[s]},
        faults=tuple(tally.faults()),
        coverage=tally.graded / supported if supported else None,
        lower=lower,
        sandboxes=dict(sorted(tally.sandboxes.items())),
        flags=dict(sorted(tally.flags.items())),
        labels=labels(tally, overall),
        conformance=tally.conformance or {},
        uncounted=tally.uncounted.rows(),
    )
    if overall is None:
        return row
    ks = range(1, n + 1) if k_values is None else k_values
    whole = whole_profile and row.graded == row.planned
    known = None if tally.published else overall.score
    spans = Spans(scenarios=scenarios, draws=draws, score=known)
    bounded = Spans(scenarios=bounds, draws=draws, score=lower)
    return dataclasses.replace(
        row,
        **_scores(spans, overall),
        **_reliability(spans, len(bounds) - len(scenarios), ks, n),
        **_measures(tally),
        views=_views(tally, spans, bounded),
        final=final(scenarios, whole_profile=whole),
        costly=tally.losses.costly(scenarios),
        families=tally.families.rows(),
        short_limits=tally.stopped.rows(),
    )


@dataclass(slots=True, kw_only=True)
class Spans:
    """Intervals over the scenarios of a row; the same values are not resampled again.

    ``score`` is that of the scenarios, not rounded, where it is known.
    """

    scenarios: Sequence[ScenarioScore]
    draws: Draws
    score: float | None = None
    _clusters: dict[bool, Clusters] = field(default_factory=dict)
    _known: dict[tuple[tuple[float, ...], bool], Interval | None] = field(default_factory=dict)

    def of(self, values: Sequence[float], *, plain: bool = True) -> Interval | None:
        """The interval of one value a scenario."""
        place = (tuple(values), plain)
        if place not in self._known:
            if plain not in self._clusters:
                self._clusters[plain] = Clusters.of(self.scenarios, plain=plain)
            self._known[place] = self._clusters[plain].interval(values, draws=self.draws)
        return self._known[place]


def _views(tally: Tally, spans: Spans, bounds: Spans) -> dict[str, ViewScore]:
    """The score over what each view counts; where that is the same, it is computed once."""
    rerun = _view(spans)
    clean = _view(Spans(scenarios=tally.clean(), draws=spans.draws)) if tally.repeats else rerun
    incomplete = _view(bounds) if tally.graded < tally.supported else rerun
    return dict(zip(VIEWS, (clean, rerun, incomplete), strict=True))


def _view(spans: Spans) -> ViewScore:
    if not spans.scenarios:
        return ViewScore()
    score = aggregate(spans.scenarios).score if spans.score is None else spans.score
    return ViewScore(
        score=score,
        interval=spans.of([s.mean("score") for s in spans.scenarios], plain=False),
        trials=sum(len(s.outcomes) for s in spans.scenarios),
    )


def _scores(spans: Spans, overall: OverallScore) -> dict[str, Any]:
    scenarios = spans.scenarios
    return {
        "score": overall.score,
        "interval": spans.of([s.mean("score") for s in scenarios], plain=False),
        "capability": overall.capability,
        "covered_weight": overall.covered if overall.by_dimension else None,
        "strict": fmean([s.mean("strict") for s in scenarios]),
        "loose": fmean([s.mean("loose") for s in scenarios]),
        "spread": fmean([s.spread for s in scenarios]),
        "dimensions": _dimensions(scenarios, overall),
    }


def _reliability(spans: Spans, left_out: int, ks: Sequence[int], n: int) -> dict[str, Any]:
    """``left_out`` scenarios have no graded trial; intervals are for k = 1 and k = ``n``."""

    def estimates(field: str, estimator: Estimator) -> dict[int, Estimate]:
        counts = [s.count(field) for s in spans.scenarios]
        return {k: _estimate(spans, counts, estimator, k, left_out, k in (1, n)) for k in ks}

    return {
        "pass_at": estimates("passed", pass_at),
        "pass_all": estimates("passed", pass_all),
        "strict_all": estimates("strict", pass_all),
        "any_passed": _proportion(spans, [s.any_passed for s in spans.scenarios]),
        "all_passed": _proportion(spans, [s.all_passed for s in spans.scenarios]),
    }


def _measures(tally: Tally) -> dict[str, Any]:
    sums = ("steps", "tool_calls", "tokens", "cost_usd", "seconds")
    return {name: getattr(tally, name).measure(tally.graded) for name in sums}


def _estimate(
    spans: Spans,
    counts: Sequence[tuple[int, int]],
    estimator: Estimator,
    k: int,
    left_out: int,
    with_interval: bool,
) -> Estimate:
    mean = suite(counts, k, estimator)
    interval = None
    if with_interval and mean.scenarios:
        known = {count: float(estimator(*count, k) or 0) for count in set(counts)}
        values = [known[count] for count in counts if count[0] >= k]
        scenarios = [s for s in spans.scenarios if len(s.outcomes) >= k]
        whole = len(scenarios) == len(counts)
        shared = spans if whole else Spans(scenarios=scenarios, draws=spans.draws)
        interval = shared.of(values)
    return Estimate(
        value=None if mean.value is None else float(mean.value),
        interval=interval,
        scenarios=mean.scenarios,
        left_out=mean.left_out + left_out,
    )


def _proportion(spans: Spans, values: Sequence[bool]) -> Estimate:
    return Estimate(
        value=fmean(values), interval=spans.of([float(v) for v in values]), scenarios=len(values)
    )


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
