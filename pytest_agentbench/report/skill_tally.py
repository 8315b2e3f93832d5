"""What the records of one row say of skills, added up trial by trial."""

from __future__ import annotations

from collections.abc import Sequence
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

    ``single`` is of trials that one run makes. Of the others ``last`` is the graded run; where the
    earlier ones are known too, ``before`` is of these, and ``reuse`` the graded run again.
    """

    single: float = 0
    singles: int = 0
    last: float = 0
    lasts: int = 0
    before: float = 0
    reused: float = 0
    befores: int = 0

    def add(self, alone: float | None, rest: float | None) -> None:
        """Take in a trial of several runs; None is unknown."""
        if alone is None:
            return
        self.last += alone
        self.lasts += 1
        if rest is not None:
            self.before += rest
            self.reused += alone
            self.befores += 1

    @property
    def alone(self) -> float:
        """The graded run of each of ``trials``."""
        return self.single + self.last

    @property
    def trials(self) -> int:
        return self.singles + self.lasts

    @property
    def whole(self) -> float:
        """All runs of each of ``whole_trials``."""
        return self.reuse + self.before

    @property
    def reuse(self) -> float:
        """The graded run of each of ``whole_trials``."""
        return self.single + self.reused

    @property
    def whole_trials(self) -> int:
        return self.singles + self.befores


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
        efforts = self.efforts.get(scenario)
        if efforts is None:
            efforts = self.efforts[scenario] = tuple(Effort() for _ in RESOURCES)
        alone = _spent(record.usage, record.seconds)
        before = [phase for phase in phases if not phase.graded] if phases else phases
        if before:
            for effort, own, others in zip(efforts, alone, _rest(before), strict=True):
                effort.add(own, others)
            self._earlier(scenario, before, outcome)
            return
        for effort, own in zip(efforts, alone, strict=True):
            if own is not None:
                effort.single += own
                effort.singles += 1

    def _earlier(self, scenario: str, before: Sequence[PhaseFacts], outcome: Outcome) -> None:
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


def _rest(phases: Sequence[PhaseFacts]) -> tuple[float | None, ...]:
    """What phases took in all: unknown where it is of one of them."""
    total: tuple[float | None, ...] = (0,) * len(RESOURCES)
    for phase in phases:
        spent = _spent(phase.usage, phase.seconds)
        total = tuple(
            None if a is None or b is None else a + b for a, b in zip(total, spent, strict=True)
        )
    return total


def _scored(phase: PhaseFacts) -> Outcome:
    score, strict = phase.score or 0.0, bool(phase.strict)
    return Outcome(score=score, capability=score, passed=strict, strict=strict)
