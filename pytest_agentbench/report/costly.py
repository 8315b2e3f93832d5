"""The failed checks that cost a row of the scoreboard most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_agentbench.grade import CheckResult
from pytest_agentbench.record import Record
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


def costly_checks(
    scenarios: Sequence[ScenarioScore], graded: Sequence[Record]
) -> tuple[CostlyCheck, ...]:
    """The ``COSTLY`` checks of the graded trials that cost the overall score most."""
    weight = dict(zip((s.facts.id for s in scenarios), weights(scenarios), strict=True))
    trials = {s.facts.id: len(s.outcomes) for s in scenarios}
    lost: dict[tuple[str, str], float] = {}
    times = Counter[tuple[str, str]]()
    sample: dict[tuple[str, str], CheckResult] = {}
    for record in graded:
        assert record.grade is not None
        scenario = record.scenario
        for check, part in losses(record.grade, native=scenario.form == Form.NATIVE):
            place = (scenario.id, check.id)
            share = part * weight[scenario.id] / trials[scenario.id]
            lost[place] = lost.get(place, 0.0) + share
            times[place] += 1
            sample.setdefault(place, check)
    ordered = sorted(lost, key=lambda place: (-round(lost[place], 12), place))
    return tuple(
        CostlyCheck(
            scenario=place[0],
            check=place[1],
            category=sample[place].category,
            severity=sample[place].severity,
            lost=lost[place],
            times=times[place],
            trials=trials[place[0]],
            detail=sample[place].reason[:_SAMPLE],
        )
        for place in ordered[:COSTLY]
    )
