"""From trials to scenarios, dimensions and one overall score (ClawProBench §3.5).

Sums are ``fsum``: those of ``sum`` differ in their last digit between versions of Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from operator import attrgetter
from statistics import fmean

from pytest_agentbench.record import ScenarioFacts
from pytest_agentbench.scenario.model import DIFFICULTIES, DIMENSIONS
from pytest_agentbench.scoring import composite

#: Trials of each scenario that the published Final is defined for.
FINAL_TRIALS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one graded trial adds to the sums."""

    score: float
    capability: float
    passed: bool
    strict: bool = False
    loose: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioScore:
    """A scenario and its graded trials, at least one."""

    facts: ScenarioFacts
    outcomes: tuple[Outcome, ...]

    def mean(self, field: str) -> float:
        """Mean of a field of the outcomes over the trials."""
        return fsum(map(attrgetter(field), self.outcomes)) / len(self.outcomes)

    def count(self, field: str) -> tuple[int, int]:
        """Trials, and for how many of them the field is true."""
        return len(self.outcomes), sum(map(attrgetter(field), self.outcomes))

    @property
    def any_passed(self) -> bool:
        return any(outcome.passed for outcome in self.outcomes)

    @property
    def all_passed(self) -> bool:
        return all(outcome.passed for outcome in self.outcomes)

    @property
    def spread(self) -> float:
        """Population standard deviation of the trials' scores."""
        return composite.deviation([outcome.score for outcome in self.outcomes])

    @property
    def weight(self) -> float:
        """Declared weight times the factor of the difficulty."""
        return self.facts.weight * DIFFICULTIES.get(self.facts.difficulty, 1)

    @property
    def cluster(self) -> str:
        return f"family {self.facts.family}" if self.facts.family else f"id {self.facts.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionScore:
    """One dimension: score and capability weighted by scenario, the pass rates not."""

    name: str
    scenarios: int
    score: float
    capability: float
    pass_at_1: float
    any_passed: float
    all_passed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OverallScore:
    """The scores of scenarios taken together.

    ``score`` and ``capability`` are normalised over ``covered``, the sum of the shares of the
    dimensions that occur; ``score_of_all`` and ``capability_of_all`` count a missing dimension
    as 0, as the published harness does. When a scenario has no dimension, all of them are the
    plain mean over scenarios, ``by_dimension`` is False and ``covered`` 1.
    """

    score: float
    capability: float
    score_of_all: float
    capability_of_all: float
    covered: float
    by_dimension: bool
    dimensions: tuple[DimensionScore, ...]

    @property
    def subset(self) -> bool:
        return self.by_dimension and len(self.dimensions) < len(DIMENSIONS)


def aggregate(scenarios: Sequence[ScenarioScore], *, digits: int | None = None) -> OverallScore:
    """Scores of at least one scenario; ``digits=4`` rounds at every level, as published."""

    def rounded(value: float) -> float:
        return value if digits is None else round(value, digits)

    means = {
        name: {id(s): rounded(s.mean(name)) for s in scenarios}
        for name in ("score", "capability", "passed")
    }
    groups = {name: group for name, group in _by_dimension(scenarios).items() if name}
    dimensions = tuple(
        DimensionScore(
            name=name,
            scenarios=len(group),
            score=rounded(_weighted_mean(group, means["score"])),
            capability=rounded(_weighted_mean(group, means["capability"])),
            pass_at_1=rounded(fmean([means["passed"][id(s)] for s in group])),
            any_passed=rounded(fmean([s.any_passed for s in group])),
            all_passed=rounded(fmean([s.all_passed for s in group])),
        )
        for name, group in groups.items()
    )
    if dimensioned(scenarios):
        covered = fsum(DIMENSIONS[d.name] for d in dimensions)
        score = fsum(d.score * DIMENSIONS[d.name] for d in dimensions)
        capability = fsum(d.capability * DIMENSIONS[d.name] for d in dimensions)
    else:
        covered = 1.0
        score = fmean(means["score"].values())
        capability = fmean(means["capability"].values())
    return OverallScore(
        score=rounded(score / covered),
        capability=rounded(capability / covered),
        score_of_all=rounded(score),
        capability_of_all=rounded(capability),
        covered=round(covered, 10),
        by_dimension=dimensioned(scenarios),
        dimensions=dimensions,
    )


def _weighted_mean(group: Sequence[ScenarioScore], values: Mapping[int, float]) -> float:
    mass = fsum([s.weight for s in group])
    if not mass:
        return fmean([values[id(s)] for s in group])
    return fsum([values[id(s)] * s.weight for s in group]) / mass


def dimensioned(scenarios: Sequence[ScenarioScore]) -> bool:
    """Whether each scenario has a dimension, so that these weigh in the overall score."""
    return all(s.facts.dimension in DIMENSIONS for s in scenarios)


def _by_dimension(scenarios: Sequence[ScenarioScore]) -> dict[str, list[ScenarioScore]]:
    """Scenarios of each dimension that occurs; those of no known dimension under ""."""
    groups = {name: [s for s in scenarios if s.facts.dimension == name] for name in DIMENSIONS}
    rest = [s for s in scenarios if s.facts.dimension not in DIMENSIONS]
    return {name: group for name, group in {**groups, "": rest}.items() if group}


def weights(scenarios: Sequence[ScenarioScore]) -> tuple[float, ...]:
    """Each scenario's part of the overall score; they sum to 1."""
    if not dimensioned(scenarios):
        return (1 / len(scenarios),) * len(scenarios)
    mass = {name: fsum(s.weight for s in group) for name, group in _by_dimension(scenarios).items()}
    count = {name: len(group) for name, group in _by_dimension(scenarios).items()}
    raw = []
    for s in scenarios:
        name = s.facts.dimension
        part = s.weight / mass[name] if mass[name] else 1 / count[name]
        raw.append(DIMENSIONS[name] * part)
    total = fsum(raw)
    return tuple(value / total for value in raw)


def weighted(scenarios: Sequence[ScenarioScore], values: Sequence[float]) -> float:
    """Mean of one value a scenario, with the weights of the overall score."""
    return fsum(w * value for w, value in zip(weights(scenarios), values, strict=True))


def final(scenarios: Sequence[ScenarioScore], *, whole_profile: bool) -> float | None:
    """Final of Table 4; None unless each scenario of a whole profile has three graded trials."""
    if not whole_profile or any(len(s.outcomes) != FINAL_TRIALS for s in scenarios):
        return None
    return composite.final(
        aggregate(scenarios).score_of_all,
        min(1.0, weighted(scenarios, [s.all_passed for s in scenarios])),
        min(1.0, weighted(scenarios, [s.any_passed for s in scenarios])),
    )
