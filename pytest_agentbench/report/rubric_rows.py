"""What rubrics say of each row, and of a skill against doing without (SkillForgeBench Table 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from pytest_agentbench.report.rubric_tally import RubricTally
from pytest_agentbench.scenario.rubric import TOPICS
from pytest_agentbench.scoring.aggregate import Outcome, ScenarioScore
from pytest_agentbench.scoring.paired import Difference, difference, pairs_of

if TYPE_CHECKING:
    from pytest_agentbench.report.tally import Tally

BASELINE = "baseline"
#: Criteria that a row names.
_MISSED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryRow:
    """A category over the scenarios in which it applies (Table 6)."""

    category: str
    title: str
    kind: str
    loose: float
    strict: float
    scenarios: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A criterion that had no credit in ``missed`` of the ``trials`` in which it applied."""

    scenario: str
    criterion: str
    kind: str
    missed: int
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricRow:
    """Means over scenarios of the means over their trials; None where nothing is known.

    Process scores and categories are those of modes with a skill: without one there is no
    workflow to follow. ``loose_gain`` and ``strict_gain`` are what completion has more than in the
    baseline of the same runtime and model, over the scenarios that both have (Figure 2). ``steps``
    and ``tool_calls`` are means over the same trials. ``judge_tokens`` and ``judge_cost_usd`` are
    sums, apart from the agent's; null is unknown. ``missed`` are the criteria missed most often.
    ``message`` is why the first of the ``undecided`` has no verdict.
    """

    runtime: str
    model: str
    mode: str
    policy: str
    trials: int
    undecided: int
    scenarios: int
    completion_loose: float | None = None
    completion_strict: float | None = None
    process_loose: float | None = None
    process_strict: float | None = None
    gated: float | None = None
    loose_gain: Difference | None = None
    strict_gain: Difference | None = None
    steps: float | None = None
    tool_calls: float | None = None
    categories: tuple[CategoryRow, ...] = ()
    missed: tuple[Missed, ...] = ()
    judges: tuple[str, ...] = ()
    judge_tokens: int | None = None
    judge_cost_usd: float | None = None
    message: str = ""


def rubric_rows(tallies: Sequence[Tally]) -> tuple[RubricRow, ...]:
    """Of each tally with a rubric in any trial, in their order."""
    bases = {
        (t.first.runtime, t.first.model, t.first.scenario.policy): t
        for t in tallies
        if t.first.mode == BASELINE
    }
    return tuple(
        _row(tally, bases.get((t.runtime, t.model, t.scenario.policy)))
        for tally in tallies
        if tally.rubric.trials
        for t in (tally.first,)
    )


def _row(tally: Tally, base: Tally | None) -> RubricRow:
    first, rubric = tally.first, tally.rubric
    skilled = first.mode != BASELINE
    pairs = pairs_of(_scores(base), _scores(tally)) if base and skilled else []
    means = {name: mean(values) for name, values in rubric.scores.items()}
    if not skilled:
        means |= dict.fromkeys(("process_loose", "process_strict"))
    return RubricRow(
        runtime=first.runtime,
        model=first.model,
        mode=first.mode,
        policy=first.scenario.policy,
        trials=rubric.trials,
        undecided=rubric.undecided,
        scenarios=len(rubric.scores["completion_loose"]),
        **means,
        loose_gain=difference(pairs, field="loose", plain=True) if pairs else None,
        strict_gain=difference(pairs, field="score", plain=True) if pairs else None,
        steps=mean(rubric.steps),
        tool_calls=mean(rubric.tool_calls),
        categories=tuple(_categories(rubric, skilled=skilled)),
        missed=_missed(rubric, skilled=skilled),
        judges=tuple(rubric.judges),
        judge_tokens=rubric.tokens if rubric.judges else None,
        judge_cost_usd=rubric.cost_usd if rubric.judges else None,
        message=rubric.message,
    )


def mean(values: Mapping[str, Sequence[float]]) -> float | None:
    """The mean over scenarios of the means over their trials."""
    means = [fsum(trials) / len(trials) for trials in values.values()]
    return fsum(means) / len(means) if means else None


def _scores(tally: Tally) -> list[ScenarioScore]:
    """Strict completion as the score, of each scenario that has any."""
    strict, loose = (tally.rubric.scores[f"completion_{name}"] for name in ("strict", "loose"))
    return [
        ScenarioScore(
            facts=tally.facts[scenario],
            outcomes=tuple(
                Outcome(score=s, capability=x, passed=s == 1, strict=s == 1, loose=x)
                for s, x in zip(strict[scenario], loose[scenario], strict=True)
            ),
        )
        for scenario in strict
    ]


def _categories(rubric: RubricTally, *, skilled: bool) -> list[CategoryRow]:
    found = []
    for topic in TOPICS.values():
        if topic.name not in rubric.categories or (topic.kind == "process" and not skilled):
            continue
        loose, strict = rubric.categories[topic.name]
        found.append(
            CategoryRow(
                category=topic.name,
                title=topic.title,
                kind=topic.kind,
                loose=mean(loose) or 0.0,
                strict=mean(strict) or 0.0,
                scenarios=len(loose),
            )
        )
    return found


def _missed(rubric: RubricTally, *, skilled: bool) -> tuple[Missed, ...]:
    """Those with the largest shares, by scenario and criterion where these are the same."""
    found = [
        Missed(scenario=scenario, criterion=name, kind=kind, missed=missed, trials=trials)
        for (scenario, name), (kind, trials, missed) in rubric.criteria.items()
        if missed and (skilled or kind == "completion")
    ]
    found.sort(key=lambda m: (-m.missed / m.trials, -m.trials, m.scenario, m.criterion))
    return tuple(found[:_MISSED])
