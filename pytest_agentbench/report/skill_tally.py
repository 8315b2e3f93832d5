"""What the records of one row say of skills, added up trial by trial."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum

from pytest_agentbench.execution import Usage
from pytest_agentbench.phase_record import PhaseFacts
from pytest_agentbench.record import Record
from pytest_agentbench.scoring.aggregate import Outcome

#: What is spent: field of what follows, and how it is known of an execution.
RESOURCES = ("tokens", "cost_usd", "seconds")
#: Violations that are told in words, and their characters.
_SAMPLES, _SAMPLE = 3, 200


@dataclass(slots=True)
class Effort:
    """One resource in the trials of one scenario: sums, and of how many trials they are known.

    ``alone`` is the graded run of each trial, ``whole`` all of its runs. ``reuse`` is the graded
    run again, over those trials alone of which the whole is known.
    """

    alone: float = 0
    trials: int = 0
    whole: float = 0
    reuse: float = 0
    whole_trials: int = 0

    def add(self, alone: float | None, rest: float | None) -> None:
        """Take in a trial; None is unknown."""
        if alone is None:
            return
        self.alone += alone
        self.trials += 1
        if rest is not None:
            self.whole += alone + rest
            self.reuse += alone
            self.whole_trials += 1


@dataclass(slots=True)
class SkillTally:
    """Sums over the trials of one row; records are not kept.

    Counts are of trials: ``making`` had a phase in which a skill was to be made, ``given`` were
    graded with a skill that is not the harness's own, ``known`` of these tell whether the model saw
    it. ``first`` has the scores of earlier runs by scenario, ``second`` those of the graded runs
    that followed them. ``staged`` says that more than one run makes a trial, ``direct`` counts earlier runs of the task, and ``quality`` sums a mean of
    each trial that made skills or was to.
    """

    efforts: dict[str, tuple[Effort, ...]] = field(default_factory=dict)
    first: dict[str, list[Outcome]] = field(default_factory=dict)
    second: dict[str, list[Outcome]] = field(default_factory=dict)
    graded: int = 0
    direct: int = 0
    staged: bool = False
    making: int = 0
    with_made: int = 0
    made: int = 0
    refused: int = 0
    deviating: int = 0
    quality: float = 0.0
    given: int = 0
    known: int = 0
    shown: int = 0
    opened: int = 0
    used: int = 0
    guarded: int = 0
    mutated: int = 0
    wrote: int = 0
    samples: list[str] = field(default_factory=list)

    def add(self, record: Record, outcome: Outcome | None) -> None:
        """Take in a record of this row; ``outcome`` is that of a graded one."""
        phases = record.phases
        if len(phases) > 1 or (phases and (phases[0].given or phases[0].mutation is not None)):
            self._skills(record, phases, graded=outcome is not None)
        if outcome is None:
            return
        scenario = record.scenario.id
        self.graded += 1
        if scenario not in self.efforts:
            self.efforts[scenario] = tuple(Effort() for _ in RESOURCES)
        before = [phase for phase in phases if not phase.graded]
        rest = _rest(before)
        alone = _spent(record.usage, record.seconds)
        for effort, own, others in zip(self.efforts[scenario], alone, rest, strict=True):
            effort.add(own, others)
        if before:
            self._earlier(scenario, before, outcome)

    def _earlier(self, scenario: str, before: list[PhaseFacts], outcome: Outcome) -> None:
        runs = [phase for phase in before if phase.role == "execute"]
        self.direct += len(runs)
        scored = [phase for phase in runs if phase.score is not None]
        if scored:
            self.first.setdefault(scenario, []).append(_scored(scored[0]))
            self.second.setdefault(scenario, []).append(outcome)

    def _skills(self, record: Record, phases: tuple[PhaseFacts, ...], *, graded: bool) -> None:
        self.staged |= len(phases) > 1
        self.guarded += any(phase.mutation is not None for phase in phases)
        self.mutated += any(phase.mutation for phase in phases)
        self.wrote += any(phase.outputs_written for phase in phases)
        for told in (text for phase in phases for text in phase.violations):
            sample = f"{record.scenario.id}: {told}"[:_SAMPLE]
            if len(self.samples) < _SAMPLES and sample not in self.samples:
                self.samples.append(sample)
        if not graded:
            return
        if any(phase.role != "execute" for phase in phases):
            made = [skill for phase in phases for skill in phase.made]
            self.making += 1
            self.with_made += bool(made)
            self.made += len(made)
            self.refused += sum(bool(skill.refused) for skill in made)
            self.deviating += sum(bool(skill.deviations) for skill in made)
            self.quality += fsum(skill.quality for skill in made) / len(made) if made else 0.0
        given = [s for phase in phases if phase.graded for s in phase.given if not s.seeded]
        self.given += bool(given)
        self.known += any(skill.shown is not None or skill.opened is not None for skill in given)
        self.shown += any(skill.shown or skill.opened for skill in given)
        self.opened += any(skill.opened for skill in given)
        self.used += any(skill.used for skill in given)


def _spent(usage: Usage, seconds: float) -> tuple[float | None, ...]:
    """Of each of ``RESOURCES``."""
    return (usage.total_tokens, usage.cost_usd, seconds)


_NOTHING: tuple[float | None, ...] = (0,) * len(RESOURCES)


def _rest(phases: list[PhaseFacts]) -> tuple[float | None, ...]:
    """What phases took in all: unknown where it is of one of them."""
    total = _NOTHING
    for phase in phases:
        spent = _spent(phase.usage, phase.seconds)
        total = tuple(
            None if a is None or b is None else a + b for a, b in zip(total, spent, strict=True)
        )
    return total


def _scored(phase: PhaseFacts) -> Outcome:
    score, strict = phase.score or 0.0, bool(phase.strict)
    return Outcome(score=score, capability=score, passed=strict, strict=strict)
