"""What a set of runs says of the benchmark itself: its views, its formula, its scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum
from statistics import fmean, pstdev, pvariance

from pytest_agentbench.report.analysis_set import Entry, by_policy, common
from pytest_agentbench.scoring.correlation import pearson, ranks, spearman, with_interval
from pytest_agentbench.scoring.formulas import FORMULAS, WEIGHTS, Formula, composite
from pytest_agentbench.scoring.intervals import Interval

#: Mean scores from which on, and down to which, a scenario tells nobody apart.
SATURATED, FLOOR = 0.95, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """How alike two ways to score rank the entries; None where that cannot be told.

    ``moved`` is the largest number of places that an entry moves between the two.
    """

    first: str
    second: str
    spearman: float | None
    spearman_interval: Interval | None
    pearson: float | None
    pearson_interval: Interval | None
    moved: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Where the variance of an entry's scores comes from.

    ``between`` is the population variance of its scenarios' means, ``within`` the mean over its
    scenarios of the variance of their trials (ClawProBench counts the latter as instability);
    None with one trial.
    """

    entry: Entry
    between: float
    within: float | None

    @property
    def share(self) -> float | None:
        """The part of both that is within scenarios."""
        if self.within is None or self.between + self.within == 0:
            return None
        return self.within / (self.between + self.within)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioPower:
    """How well a scenario tells entries apart.

    ``mean`` and ``spread`` are over the entries' means; ``discrimination`` is Pearson's r of the
    scenario with the mean of all others (the item-rest correlation of test theory), None where it
    or they are all the same. ``verdict`` is ``saturated``, ``floor``, ``inverted`` (who does well
    elsewhere does badly here: look at its checks) or "".
    """

    id: str
    mean: float
    spread: float
    discrimination: float | None
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Of the scenarios that all ``entries`` have, which are scored by one ``policy``."""

    policy: str
    entries: tuple[Entry, ...]
    scenarios: int
    views: tuple[Alike, ...] = ()
    weights: tuple[Alike, ...] = ()
    ablations: tuple[Alike, ...] = ()
    spreads: tuple[Spread, ...] = ()
    powers: tuple[ScenarioPower, ...] = ()


def analyses(entries: Sequence[Entry]) -> tuple[Analysis, ...]:
    """One of each scoring policy; the same entries in the same order give the same ones."""
    return tuple(_analysis(policy, same) for policy, same in by_policy(entries).items())


def _analysis(policy: str, entries: Sequence[Entry]) -> Analysis:
    shared = common(entries)
    if not shared:
        return Analysis(policy=policy, entries=tuple(entries), scenarios=0)
    views: list[tuple[str, Formula]] = [
        ("overall", lambda grade: grade.score),
        ("correctness", lambda grade: grade.correctness),
        ("pass rate", lambda grade: float(grade.passed)),
        ("strict", lambda grade: float(grade.strict)),
    ]
    scored = {name: [entry.overall(formula) for entry in shared] for name, formula in views}
    full, *others = FORMULAS
    by_formula = {
        name: [entry.overall(formula) for entry in shared] for name, formula in FORMULAS.items()
    }
    swept = {
        f"{weight:.2f} C": [entry.overall(composite(weight)) for entry in shared]
        for weight in WEIGHTS
    }
    middle = f"{WEIGHTS[1]:.2f} C"
    return Analysis(
        policy=policy,
        entries=shared,
        scenarios=len(shared[0].grades),
        views=tuple(_alike(a, scored[a], b, scored[b]) for a, b in combinations(scored, 2)),
        weights=tuple(
            _alike(middle, swept[middle], name, swept[name]) for name in swept if name != middle
        ),
        ablations=tuple(_alike(full, by_formula[full], name, by_formula[name]) for name in others),
        spreads=tuple(map(_spread, shared)),
        powers=_powers(shared),
    )


def _alike(first: str, left: Sequence[float], second: str, right: Sequence[float]) -> Alike:
    pairs = list(zip(left, right, strict=True))
    rho, rho_interval = with_interval(pairs, spearman)
    r, r_interval = with_interval(pairs, pearson)
    places = zip(ranks(left), ranks(right), strict=True)
    return Alike(
        first=first,
        second=second,
        spearman=rho,
        spearman_interval=rho_interval,
        pearson=r,
        pearson_interval=r_interval,
        moved=max((abs(a - b) for a, b in places), default=0.0),
    )


def _spread(entry: Entry) -> Spread:
    trials = [[grade.score for grade in grades] for grades in entry.grades.values()]
    repeated = [scores for scores in trials if len(scores) > 1]
    return Spread(
        entry=entry,
        between=pvariance([fmean(scores) for scores in trials]),
        within=fmean(map(pvariance, repeated)) if repeated else None,
    )


def _powers(entries: Sequence[Entry]) -> tuple[ScenarioPower, ...]:
    names = list(entries[0].grades)
    means = {name: [entry.mean(name) for entry in entries] for name in names}
    sums = [fsum(column) for column in zip(*means.values(), strict=True)]
    found = []
    for name in names:
        own = means[name]
        rest = [
            (total - value) / max(1, len(names) - 1) for total, value in zip(sums, own, strict=True)
        ]
        r = pearson(list(zip(own, rest, strict=True))) if len(names) > 1 else None
        mean = fmean(own)
        found.append(
            ScenarioPower(
                id=name,
                mean=mean,
                spread=pstdev(own),
                discrimination=r,
                verdict=_verdict(own, r),
            )
        )
    return tuple(found)


def _verdict(means: Sequence[float], discrimination: float | None) -> str:
    if min(means) >= SATURATED:
        return "saturated"
    if max(means) <= FLOOR:
        return "floor"
    return "inverted" if discrimination is not None and discrimination < 0 else ""
