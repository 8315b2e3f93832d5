"""What the rubrics of one row's trials add up to, trial by trial."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from pytest_agentbench.grade import RubricGrade
from pytest_agentbench.phase_record import judging
from pytest_agentbench.record import Record

#: The scores that a row has means of.
SCORES = ("completion_loose", "completion_strict", "process_loose", "process_strict", "gated")
#: Values of trials by scenario.
ByScenario = dict[str, list[float]]
N = TypeVar("N", int, float)


@dataclass(slots=True)
class RubricTally:
    """Trials with a rubric; ``undecided`` ones lack verdicts on completion and are in no score.

    ``categories`` has loose and strict scores by category. Steps and calls are those of decided
    trials. ``tokens`` and ``cost_usd`` are the judging's; None once that of a trial is unknown.
    """

    trials: int = 0
    undecided: int = 0
    #: Why the first of the undecided is that.
    message: str = ""
    scores: dict[str, ByScenario] = field(default_factory=lambda: {name: {} for name in SCORES})
    categories: dict[str, tuple[ByScenario, ByScenario]] = field(default_factory=dict)
    #: Of each scenario and criterion its kind, and in how many trials it applied and was missed.
    criteria: dict[tuple[str, str], tuple[str, int, int]] = field(default_factory=dict)
    steps: ByScenario = field(default_factory=dict)
    tool_calls: ByScenario = field(default_factory=dict)
    judges: dict[str, None] = field(default_factory=dict)
    tokens: int | None = 0
    cost_usd: float | None = 0.0

    def add(self, record: Record, rubric: RubricGrade) -> None:
        """Take in a graded trial."""
        scenario = record.scenario.id
        self.trials += 1
        self.judges |= dict.fromkeys(rubric.judges)
        if rubric.judges:
            spent = judging(record.observed) or rubric.usage
            self.tokens = _sum(self.tokens, spent.total_tokens)
            self.cost_usd = _sum(self.cost_usd, spent.cost_usd)
        if rubric.completion_loose is None:
            self.undecided += 1
            self.message = self.message or rubric.message
            return
        for name, values in self.scores.items():
            _put(values, scenario, getattr(rubric, name))
        for verdict in rubric.verdicts:
            if verdict.credit is not None:
                place = (scenario, verdict.id)
                _, applied, missed = self.criteria.get(place, ("", 0, 0))
                self.criteria[place] = (verdict.kind, applied + 1, missed + (verdict.credit == 0))
        for each in rubric.categories:
            loose, strict = self.categories.setdefault(each.category, ({}, {}))
            _put(loose, scenario, each.loose)
            _put(strict, scenario, each.strict)
        _put(self.steps, scenario, record.steps)
        _put(self.tool_calls, scenario, record.tool_calls)


def _put(values: ByScenario, scenario: str, value: float | None) -> None:
    if value is not None:
        values.setdefault(scenario, []).append(value)


def _sum(so_far: N | None, more: N | None) -> N | None:
    return None if so_far is None or more is None else so_far + more
