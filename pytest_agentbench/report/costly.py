"""The failed checks that cost a row of the scoreboard most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from sys import intern

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
    """Of one check of a scenario: what it cost in all, how often it failed, and how it first did.

    Of a large run there are many, whose records do not stay.
    """

    part: float
    times: int
    category: str
    severity: str
    detail: str

    @classmethod
    def of(cls, check: CheckResult, part: float) -> _Loss:
        sample = check.reason[:_SAMPLE]
        return cls(part, 1, intern(check.category), intern(check.severity), sample)


@dataclass(slots=True)
class Losses:
    """What failed checks cost, added up trial by trial: by scenario, then by check."""

    found: dict[str, dict[str, _Loss]] = field(default_factory=dict)

    def add(self, scenario: ScenarioFacts, grade: Grade) -> None:
        """Take in a graded trial."""
        parts = losses(grade, native=scenario.form == Form.NATIVE)
        if not parts:
            return
        found = self.found.setdefault(scenario.id, {})
        for check, part in parts:
            known = found.get(check.id)
            if known is None:
                found[intern(check.id)] = _Loss.of(check, part)
            else:
                known.part += part
                known.times += 1

    def costly(self, scenarios: Sequence[ScenarioScore]) -> tuple[CostlyCheck, ...]:
        """The ``COSTLY`` checks that cost the overall score of ``scenarios`` most."""
        trials = {s.facts.id: len(s.outcomes) for s in scenarios}
        weight = dict(zip(trials, weights(scenarios), strict=True))
        lost = [
            (loss.part * weight[scenario] / trials[scenario], scenario, check, loss)
            for scenario, found in self.found.items()
            for check, loss in found.items()
        ]
        lost.sort(key=lambda each: (-round(each[0], 12), each[1], each[2]))
        return tuple(
            CostlyCheck(
                scenario=scenario,
                check=check,
                category=loss.category,
                severity=loss.severity,
                lost=part,
                times=loss.times,
                trials=trials[scenario],
                detail=loss.detail,
            )
            for part, scenario, check, loss in lost[:COSTLY]
        )
