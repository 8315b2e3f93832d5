"""Modes with a skill against the baseline of the same runtime and model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pytest_agentbench.record import ScenarioFacts
from pytest_agentbench.report.skill_effort import ResourceComparison, resources
from pytest_agentbench.report.skill_tally import SkillTally
from pytest_agentbench.report.tally import Tally
from pytest_agentbench.scoring.aggregate import Outcome, ScenarioScore
from pytest_agentbench.scoring.paired import Difference
from pytest_agentbench.scoring.skill_attribution import CONTROLS, Attribution, attribute
from pytest_agentbench.scoring.skill_cost import PerMillion, Ratio, per_million, ratio
from pytest_agentbench.scoring.skill_gain import ScenarioGain, gain, score_gain

BASELINE = "baseline"
#: Where the skill of a mode comes from: made in the same trial, in a trial of another scenario, given
#: with the scenario; it is there for comparison alone, or there is none.
Kind = Literal["within-task", "transfer", "given", "control", "none"]
_KINDS: dict[str, Kind] = {
    "preskill": "within-task",
    "postskill": "within-task",
    "with-skill": "given",
    "transfer": "transfer",
    **dict.fromkeys(CONTROLS, "control"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeSkills:
    """Skills that agents made, of graded ``trials`` in which one was to be made.

    ``quality`` is the mean over these trials of the mean heuristic of EvoClawBench, 0 where none
    was made. ``refused`` were given to no later phase, ``deviating`` depart from the form.
    """

    trials: int
    with_skill: int
    skills: int
    refused: int
    deviating: int
    quality: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenSkills:
    """Graded ``trials`` with a skill at hand; of the ``known`` ones, in how many the model was
    ``shown`` it or ``opened`` it, or ran what it brought (``used``)."""

    trials: int
    known: int
    shown: int
    opened: int
    used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """Trials in which an agent changed a skill that it was to use, of ``guarded`` ones, and those in
    which it ``wrote`` the task's files when it was to write a skill. ``samples`` may be hostile."""

    guarded: int = 0
    mutated: int = 0
    wrote: int = 0
    samples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillComparison:
    """A mode other than the baseline, against it. None is *unknown* throughout.

    ``score``, ``loose`` and ``strict`` have the baseline before and the mode after, over
    ``scenarios`` with a graded trial of both; ``left_out`` have none of one. ``ratio`` is R of
    EvoClawBench, equation 1. ``points_per_million`` is in points of 100 for each million tokens
    more than the baseline, end to end. ``first_to_second`` is the gain within trials that do the
    task twice, and ``against`` what the mode has more than each control.
    """

    runtime: str
    model: str
    policy: str
    mode: str
    kind: Kind
    graded: int
    left_out: int
    score: Difference | None = None
    ratio: Ratio = None
    loose: Difference | None = None
    strict: Difference | None = None
    scenarios: tuple[ScenarioGain, ...] = ()
    resources: Mapping[str, ResourceComparison] = field(default_factory=dict)
    points_per_million: PerMillion = None
    first_to_second: Difference | None = None
    first_to_second_ratio: Ratio = None
    made: MadeSkills | None = None
    given: GivenSkills | None = None
    violations: Violations = field(default_factory=Violations)
    against: Mapping[str, Difference | None] = field(default_factory=dict)
    attribution: Attribution | None = None


def comparisons(tallies: Sequence[Tally]) -> tuple[SkillComparison, ...]:
    """Of each tally of another mode than the baseline, in their order."""
    groups: dict[tuple[str, str, str], dict[str, Tally]] = {}
    for tally in tallies:
        first = tally.first
        place = (first.runtime, first.model, first.scenario.policy)
        groups.setdefault(place, {})[first.mode] = tally
    return tuple(
        _comparison(
            tally, groups[tally.first.runtime, tally.first.model, tally.first.scenario.policy]
        )
        for tally in tallies
        if tally.first.mode != BASELINE
    )


def _comparison(tally: Tally, modes: Mapping[str, Tally]) -> SkillComparison:
    first, skill = tally.first, tally.skill
    after = tally.scenarios()
    base = modes.get(BASELINE)
    found = gain(base.scenarios(), after) if base else None
    kind = _kind(first.mode, skill)
    candidate = kind not in ("control", "none")
    spent = resources(base.skill, skill, uses=candidate) if base else {}
    made, given = _made(skill), _given(skill)
    controls = {name: modes[name] for name in CONTROLS if name in modes}
    against = (
        {n: score_gain(c.scenarios(), after) for n, c in controls.items()} if candidate else {}
    )
    score = found.score if found else None
    second = _second(tally)
    return SkillComparison(
        runtime=first.runtime,
        model=first.model,
        policy=first.scenario.policy,
        mode=first.mode,
        kind=kind,
        graded=tally.graded,
        left_out=len(tally.planned) - (len(found.scenarios) if found else 0),
        score=score,
        ratio=found.ratio if found else None,
        loose=found.loose if found else None,
        strict=found.strict if found else None,
        scenarios=found.scenarios if found else (),
        resources=spent,
        points_per_million=_points(score, spent.get("tokens")),
        first_to_second=second,
        first_to_second_ratio=ratio(second.after, second.before) if second else None,
        made=made,
        given=given,
        violations=Violations(
            guarded=skill.guarded,
            mutated=skill.mutated,
            wrote=skill.wrote,
            samples=tuple(skill.samples),
        ),
        against=against,
        attribution=attribute(
            score, against, made=made.skills if made else None, shown=_shown(given)
        )
        if candidate
        else None,
    )


def _kind(mode: str, skill: SkillTally) -> Kind:
    if mode in _KINDS:
        return _KINDS[mode]
    return "within-task" if skill.making else "given" if skill.given else "none"


def _second(tally: Tally) -> Difference | None:
    """The graded runs against the first ones of the same trials."""
    first, second = tally.skill.first, tally.skill.second
    return score_gain(_scores(tally.facts, first), _scores(tally.facts, second))


def _scores(
    facts: Mapping[str, ScenarioFacts], outcomes: Mapping[str, Sequence[Outcome]]
) -> list[ScenarioScore]:
    return [ScenarioScore(facts=facts[id_], outcomes=tuple(o)) for id_, o in outcomes.items()]


def _points(score: Difference | None, tokens: ResourceComparison | None) -> PerMillion:
    if score is None or tokens is None:
        return None
    return per_million(score.change, tokens.totals)


def _made(skill: SkillTally) -> MadeSkills | None:
    if not skill.making:
        return None
    return MadeSkills(
        trials=skill.making,
        with_skill=skill.with_made,
        skills=skill.made,
        refused=skill.refused,
        deviating=skill.deviating,
        quality=skill.quality / skill.making,
    )


def _given(skill: SkillTally) -> GivenSkills | None:
    if not skill.given:
        return None
    names = GivenSkills.__dataclass_fields__
    counts = {name: getattr(skill, name) for name in names if name != "trials"}
    return GivenSkills(trials=skill.given, **counts)


def _shown(given: GivenSkills | None) -> int | None:
    """Trials in which the model saw the skill; None unless it is known of all of them."""
    return given.shown if given and given.known == given.trials else None
