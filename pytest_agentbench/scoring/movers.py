"""Which dimensions and scenarios moved, when many are looked at."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, fsum

from pytest_agentbench.scenario.model import DIMENSIONS
from pytest_agentbench.scoring.aggregate import weights
from pytest_agentbench.scoring.draws import SEED
from pytest_agentbench.scoring.intervals import Interval
from pytest_agentbench.scoring.paired import TAIL, Difference, Pair, difference

#: Arrangements of trials up to which all are counted; beyond, this many are drawn.
_ARRANGED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """A dimension or a scenario, before and after.

    ``p`` is two-sided, and ``adjusted`` holds it against all others of its list (Holm 1979): the
    chance that any of them would look this changed is kept, and they may depend on each other.
    ``share`` is the part of the overall change. ``clear`` says whether it stands on its own.
    """

    name: str
    before: float
    after: float
    share: float
    p: float
    adjusted: float
    trials: tuple[int, int]
    interval: Interval | None = None
    clear: bool = False

    @property
    def change(self) -> float:
        return self.after - self.before


def holm(values: Sequence[float]) -> list[float]:
    """p values adjusted by Holm's method, in the same order; at most 1."""
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted = [0.0] * len(values)
    least = 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = least
    return adjusted


def dimensions(pairs: Sequence[Pair], *, tail: float = TAIL) -> tuple[Mover, ...]:
    """Each dimension that occurs, in their own order; none where scenarios have none."""
    groups = {name: [p for p in pairs if p.facts.dimension == name] for name in DIMENSIONS}
    groups = {name: group for name, group in groups.items() if group}
    found = [difference(group, tail=tail) for group in groups.values()]
    shares = dict.fromkeys(groups, 0.0)
    if groups and sum(map(len, groups.values())) == len(pairs):
        for pair, weight in zip(pairs, weights([p.after for p in pairs]), strict=True):
            shares[pair.facts.dimension] += weight * pair.change()
    adjusted = holm([each.p for each in found])
    return tuple(
        _dimension(name, group, each, shares[name], p, tail)
        for (name, group), each, p in zip(groups.items(), found, adjusted, strict=True)
    )


def _dimension(
    name: str, group: Sequence[Pair], found: Difference, share: float, p: float, tail: float
) -> Mover:
    return Mover(
        name=name,
        before=found.before,
        after=found.after,
        share=share,
        p=found.p,
        adjusted=p,
        trials=(
            sum(len(pair.before.outcomes) for pair in group),
            sum(len(pair.after.outcomes) for pair in group),
        ),
        interval=found.interval,
        clear=p <= 2 * tail,
    )


def scenarios(pairs: Sequence[Pair], *, tail: float = TAIL) -> tuple[Mover, ...]:
    """Each scenario, by its part of the overall change, the largest loss first."""
    found = [_exchanged(pair) for pair in pairs]
    rows = zip(pairs, weights([pair.after for pair in pairs]), found, holm(found), strict=True)
    movers = [
        Mover(
            name=pair.facts.id,
            before=pair.before.mean("score"),
            after=pair.after.mean("score"),
            share=weight * pair.change(),
            p=p,
            adjusted=adjusted,
            trials=(len(pair.before.outcomes), len(pair.after.outcomes)),
            clear=adjusted <= 2 * tail,
        )
        for pair, weight, p, adjusted in rows
    ]
    return tuple(sorted(movers, key=lambda mover: (mover.share, mover.name)))


def _exchanged(pair: Pair) -> float:
    """Two-sided p of the scores of one scenario's trials, exchanged between before and after."""
    before = [outcome.score for outcome in pair.before.outcomes]
    scores = before + [outcome.score for outcome in pair.after.outcomes]
    if min(scores) == max(scores):
        return 1.0
    size, n = len(scores), len(before)
    expected = fsum(scores) * n / size
    limit = abs(fsum(before) - expected) - 1e-9
    if len(set(scores)) == 2:
        return _passes(scores, n, limit)
    if comb(size, n) <= _ARRANGED:
        all_ways = [fsum(part) for part in combinations(scores, n)]
        return sum(abs(total - expected) >= limit for total in all_ways) / len(all_ways)
    draw = random.Random(SEED)
    extreme = sum(
        abs(fsum(draw.sample(scores, n)) - expected) >= limit for _ in range(_ARRANGED - 1)
    )
    return (extreme + 1) / _ARRANGED  # the arrangement that was found is one of them


def _passes(scores: Sequence[float], n: int, limit: float) -> float:
    """The same for scores of two values, of which only the number matters (hypergeometric)."""
    low, high = min(scores), max(scores)
    size, many = len(scores), scores.count(high)
    expected = n * many / size
    ways = [
        comb(many, k) * comb(size - many, n - k)
        for k in range(n + 1)
        if abs(k - expected) * (high - low) >= limit
    ]
    return sum(ways) / comb(size, n)
