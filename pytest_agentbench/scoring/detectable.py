"""What a comparison could have detected, and what it would take to detect more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from statistics import NormalDist, fmean, variance

from pytest_agentbench.scoring.aggregate import ScenarioScore, weights
from pytest_agentbench.scoring.paired import Difference, Pair

POWER = 0.8
#: Standard errors that rounding leaves where nothing varies.
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Detectable:
    """``drop``: the smallest true drop of which a gate would have told with chance ``power``.

    None where no drop would do, or nothing varied. ``scenarios`` and ``trials`` (a scenario, on
    either side) are what it takes, each alone, to see ``asked``; ``trials`` is None where more
    trials alone would not do, or one trial says nothing of how much trials vary.
    """

    drop: float | None
    power: float
    asked: float
    scenarios: int | None = None
    trials: int | None = None

    @property
    def enough(self) -> bool:
        return self.drop is not None and self.drop <= self.asked


def detectable(
    pairs: Sequence[Pair],
    found: Difference,
    *,
    allowed: float = 0.0,
    asked: float,
    power: float = POWER,
) -> Detectable:
    """Of the overall score, from how its scenarios differed in these two runs.

    The gate fails where the upper end of the interval is below −``allowed``: the true drop must
    exceed that by the interval's upper arm, and by as many standard errors as the power takes.
    A comparison of other size is taken to have arms in proportion to its standard error; the
    standard error falls with the root of the scenarios, and of it the part that comes from trials
    with the root of those.
    """
    interval = found.interval
    if interval is None or interval.high >= 1.0 or found.error < _NOTHING:
        return Detectable(drop=None, power=power, asked=asked)
    reach = interval.high - found.change + NormalDist().inv_cdf(power) * found.error
    margin = asked - allowed
    scenarios = trials = None
    if margin > 0:
        scenarios = ceil(found.scenarios * (reach / margin) ** 2 - 1e-9)
        trials = _trials(pairs, found.error**2, found.error * margin / reach)
    return Detectable(
        drop=allowed + reach, power=power, asked=asked, scenarios=scenarios, trials=trials
    )


def _trials(pairs: Sequence[Pair], total: float, wanted: float) -> int | None:
    """Trials a scenario for a standard error ``wanted``; ``total`` is the variance there is."""
    noise = _noise(pairs)
    if noise is None:
        return None
    within = min(noise, total)
    room = wanted**2 - (total - within)
    n = fmean((len(pair.before.outcomes) + len(pair.after.outcomes)) / 2 for pair in pairs)
    return ceil(n * within / room - 1e-9) if room > 0 and within > 0 else None


def _noise(pairs: Sequence[Pair]) -> float | None:
    """The part of the variance of the overall difference that repeated trials show."""
    parts = weights([pair.after for pair in pairs])
    sides = [(w, side) for w, p in zip(parts, pairs, strict=True) for side in (p.before, p.after)]
    known = [_variance(side) for _, side in sides if len(side.outcomes) > 1]
    if not known:
        return None
    usual = fmean(known)
    return sum(
        w * w * (_variance(side) if len(side.outcomes) > 1 else usual) / len(side.outcomes)
        for w, side in sides
    )


def _variance(side: ScenarioScore) -> float:
    return variance(outcome.score for outcome in side.outcomes)
