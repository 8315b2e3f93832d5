"""The failed checks that cost a row of the scoreboard most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_agentbench.grade import CheckResult, Grade
from pytest_agentbench.record import ScenarioFacts
from pytest_agentbench.scenario.model import Form
from pytest_agentbench.scoring.aggregate import ScenarioScore, weights
from pytest_agentbench.scoring.losses import losses

#: Failed checks that a row names.
COSTLY = 20
#: Characters of a detail that a row keeps.
_SAMPLE = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class CostlyCheck:
    """A check that failed: ``lost`` is the part of the row's score that it cost, in [0, 1].

    It failed in ``times`` of the scenario's ``trials`` graded trials; ``detail`` is from the
    first of these and may hold hostile text of an agent's.
    """

    scenario: str
    check: str
    category: str
    severity: str
    lost: float
    times: int
    trials: int
    detail: str


@dataclass(slots=True)
class _Loss:
    """Of one check of a scenario: what it cost in all, how often it failed, and the first time."""

    part: float
    times: int
    sample: CheckResult


@dataclass(slots=True)
class Losses:
    """What failed checks cost, added up trial by trial: by scenario and check."""

    found: dict[tuple[str, str], _Loss] = field(default_factory=dict)

    def add(self, scenario: ScenarioFacts, grade: Grade) -> None:
        """Take in a graded trial."""
        for check, part in losses(grade, native=scenario.form == Form.NATIVE):
            place = (scenario.id, check.id)
            known = self.found.get(place)
            if known is None:
                self.found[place] = _Loss(part, 1, check)
            else:
                known.part += part
                known.times += 1

    def costly(self, scenarios: Sequence[ScenarioScore]) -> tuple[CostlyCheck, ...]:
        """The ``COSTLY`` checks that cost the overall score of ``scenarios`` most."""
        trials = {s.facts.id: len(s.outcomes) for s in scenarios}
        weight = dict(zip(trials, weights(scenarios), strict=True))
        lost = {
            place: loss.part * weight[place[0]] / trials[place[0]]
            for place, loss in self.found.items()
        }
        ordered = sorted(lost, key=lambda place: (-round(lost[place], 12), place))
        return tuple(
            CostlyCheck(
                scenario=place[0],
                check=place[1],
                category=self.found[place].sample.category,
                severity=self.found[place].sample.severity,
                lost=lost[place],
                times=self.found[place].times,
                trials=trials[place[0]],
                detail=self.found[place].sample.reason[:_SAMPLE],
            )
            for place in ordered[:COSTLY]
        )
