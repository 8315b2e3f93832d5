"""What changed between two runs, or two modes of one, paired by scenario.

Sums are ``fsum``: those of ``sum`` differ in their last digit between versions of Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import comb, fsum

from pytest_agentbench.record import ScenarioFacts
from pytest_agentbench.scoring.aggregate import ScenarioScore, weights
from pytest_agentbench.scoring.intervals import Interval, wilson
from pytest_agentbench.scoring.signflip import (
    lower_end,
    lower_tail,
    standard_error,
    upper_end,
)

#: The share of comparisons with nothing changed of which either end of an interval may be wrong.
TAIL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One scenario on both sides, each with at least one graded trial."""

    before: ScenarioScore
    after: ScenarioScore

    @property
    def facts(self) -> ScenarioFacts:
        """Of the later run: its weights are those that a decision is about."""
        return self.after.facts

    def means(self, field: str = "score") -> tuple[float, float]:
        return self.before.mean(field), self.after.mean(field)

    def change(self, field: str = "score") -> float:
        before, after = self.means(field)
        return after - before


def pairs_of(before: Sequence[ScenarioScore], after: Sequence[ScenarioScore]) -> list[Pair]:
    """Scenarios that both sides have, in the order of ``after``."""
    known = {each.facts.id: each for each in before}
    return [
        Pair(before=known[each.facts.id], after=each) for each in after if each.facts.id in known
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """``change`` is after − before, in points of a score in [0, 1].

    ``interval`` holds it with ``level`` 1 − 2·tail: each end is wrong in a share ``tail`` of
    comparisons. None below two clusters. ``p`` is two-sided. ``error`` is the standard error.
    """

    before: float
    after: float
    change: float
    interval: Interval | None
    p: float
    error: float
    scenarios: int
    clusters: int


def difference(
    pairs: Sequence[Pair],
    *,
    field: str = "score",
    plain: bool = False,
    tail: float = TAIL,
) -> Difference:
    """The change of the overall mean of ``field`` over at least one pair.

    Scenarios have the weights of the overall score, equal ones if ``plain``. A scenario counts
    with the mean over its graded trials, however many each side has; families change together.
    """
    after = [pair.after for pair in pairs]
    parts = (1 / len(pairs),) * len(pairs) if plain else weights(after)
    means = [pair.means(field) for pair in pairs]
    sums: dict[str, float] = {}
    masses: dict[str, float] = {}
    for pair, part, (old, new) in zip(pairs, parts, means, strict=True):
        cluster = pair.after.cluster
        sums[cluster] = sums.get(cluster, 0.0) + part * (new - old)
        masses[cluster] = masses.get(cluster, 0.0) + part
    clusters, mass = list(sums.values()), list(masses.values())
    below = lower_tail(clusters)
    after_mean = fsum(part * new for part, (_, new) in zip(parts, means, strict=True))
    changed = {round(new - old, 12) for old, new in means}
    return Difference(
        before=fsum(part * old for part, (old, _) in zip(parts, means, strict=True)),
        after=after_mean,
        change=fsum(clusters),
        interval=_interval(clusters, mass, tail, changed, after_mean),
        p=min(1.0, 2 * min(below, 1 - below)),
        error=standard_error(clusters, mass),
        scenarios=len(pairs),
        clusters=len(clusters),
    )


def _interval(
    sums: Sequence[float],
    masses: Sequence[float],
    tail: float,
    changes: Collection[float],
    after: float,
) -> Interval | None:
    groups = len(sums)
    if groups < 2:
        return None
    low, high = lower_end(sums, masses, tail), upper_end(sums, masses, tail)
    if len(changes) == 1:
        # All scenarios agree, to which signs add nothing: with other trials some might not have.
        # Wilson bounds the share of them, and they could lose or gain what there is.
        spare = wilson(0, groups, level=1 - 2 * tail)
        if spare is not None:
            change = fsum(sums)
            low = min(low, change - spare.high * after)
            high = max(high, change + spare.high * (1 - after))
    return Interval(low=low, high=high, level=round(1 - 2 * tail, 12), method="sign-flip", n=groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemar:
    """Scenarios by whether they passed before and after; ``p`` is exact and two-sided."""

    both: int
    lost: int
    gained: int
    neither: int
    p: float


def mcnemar(pairs: Sequence[Pair]) -> McNemar:
    """The exact test of McNemar (1947): those that changed, against a fair coin.

    A scenario passes where all of its first m graded trials do, m being as many as both sides
    have: over more trials fewer scenarios would pass.
    """
    found: Counter[tuple[bool, bool]] = Counter()
    for pair in pairs:
        m = min(len(pair.before.outcomes), len(pair.after.outcomes))
        sides = (pair.before.outcomes[:m], pair.after.outcomes[:m])
        found[tuple(all(o.passed for o in side) for side in sides)] += 1  # type: ignore[index]
    lost, gained = found[True, False], found[False, True]
    changed = lost + gained
    ways = sum(comb(changed, k) for k in range(min(lost, gained) + 1))
    return McNemar(
        both=found[True, True],
        lost=lost,
        gained=gained,
        neither=found[False, False],
        p=min(1.0, 2 * ways / 2**changed),
    )
