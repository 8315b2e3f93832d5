"""What a skill adds to the score: a mode against another one, paired by scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_agentbench.scoring.aggregate import ScenarioScore
from pytest_agentbench.scoring.paired import Difference, Pair, difference, pairs_of
from pytest_agentbench.scoring.skill_cost import Ratio, ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioGain:
    """One scenario with a score on both sides: R(t) of EvoClawBench, equation 1."""

    scenario: str
    before: float
    after: float
    ratio: Ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What ``after`` has more than ``before``, over the scenarios that both have a score of.

    ``score`` is weighted as the overall score; ``loose`` and ``strict`` are plain means over
    scenarios. ``ratio`` is that of the two overall scores, as the published harness has it.
    """

    score: Difference
    loose: Difference
    strict: Difference
    ratio: Ratio
    scenarios: tuple[ScenarioGain, ...]


def gain(before: Sequence[ScenarioScore], after: Sequence[ScenarioScore]) -> Gain | None:
    """None where no scenario has a graded trial on both sides."""
    pairs = pairs_of(before, after)
    if not pairs:
        return None
    score = difference(pairs)
    return Gain(
        score=score,
        loose=difference(pairs, field="loose", plain=True),
        strict=difference(pairs, field="strict", plain=True),
        ratio=ratio(score.after, score.before),
        scenarios=tuple(map(_scenario, pairs)),
    )


def score_gain(
    before: Sequence[ScenarioScore], after: Sequence[ScenarioScore]
) -> Difference | None:
    """The score of ``gain`` alone."""
    pairs = pairs_of(before, after)
    return difference(pairs) if pairs else None


def _scenario(pair: Pair) -> ScenarioGain:
    before, after = pair.means()
    return ScenarioGain(
        scenario=pair.facts.id, before=before, after=after, ratio=ratio(after, before)
    )
