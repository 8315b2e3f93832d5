"""What one row of the scoreboard adds up, trial by trial."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import fsum
from typing import TYPE_CHECKING, Any

from pytest_agentbench.flag import Flag
from pytest_agentbench.grade import Grade
from pytest_agentbench.record import PlannedTrial, Record, ScenarioFacts
from pytest_agentbench.report.costly import Losses
from pytest_agentbench.report.families import Families
from pytest_agentbench.report.label import first_time
from pytest_agentbench.report.row import Fault, Measure
from pytest_agentbench.report.stopped import Stopped
from pytest_agentbench.report.uncounted import Uncounted
from pytest_agentbench.scoring.aggregate import Outcome, ScenarioScore
from pytest_agentbench.status import Status

if TYPE_CHECKING:
    from pytest_agentbench.report.rubric_tally import RubricTally
    from pytest_agentbench.report.skill_tally import SkillTally

#: Characters of a message that a row keeps.
_SAMPLE = 300
_LOST = Outcome(score=0.0, capability=0.0, passed=False)


@dataclass(slots=True)
class Sum:
    """Values of something counted; those of trials for which it is unknown are left out."""

    values: array[float] = field(default_factory=lambda: array("d"))

    def add(self, value: float | None) -> None:
        if value is not None:
            self.values.append(value)

    def measure(self, trials: int) -> Measure:
        known = len(self.values)
        mean = fsum(self.values) / known if known else None
        return Measure(mean=mean, known=known, trials=trials)


def _skill_tally() -> SkillTally:
    from pytest_agentbench.report.skill_tally import SkillTally  # not of every session

    return SkillTally()


def _rubric_tally() -> RubricTally:
    from pytest_agentbench.report.rubric_tally import RubricTally  # as above

    return RubricTally()


@dataclass(slots=True)
class Tally:
    """The trials of one row so far, ``first`` among them; records are not kept.

    ``planned`` counts supported trials by scenario, ``outcomes`` are those of graded ones, and
    ``repeats`` the places among these of trials that did not succeed at once; ``tuned`` says that
    one of them had a score before.
    ``uncounted`` has the trials that nothing else here has.
    ``conformance`` is what the graded records have of that name where they agree, else None.
    """

    first: PlannedTrial
    scripted: bool = False
    replayed: bool = False
    statuses: Counter[Status] = field(default_factory=Counter)
    messages: dict[Status, str] = field(default_factory=dict)
    facts: dict[str, ScenarioFacts] = field(default_factory=dict)
    planned: Counter[str] = field(default_factory=Counter)
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    repeats: dict[str, set[int]] = field(default_factory=dict)
    tuned: bool = False
    graded: int = 0
    passed: int = 0
    reruns: int = 0
    other_limits: bool = False
    published: bool = False
    exposures: set[str] = field(default_factory=set)
    conformance: Mapping[str, Any] | None = None
    sandboxes: Counter[str] = field(default_factory=Counter)
    flags: Counter[str] = field(default_factory=Counter)
    steps: Sum = field(default_factory=Sum)
    tool_calls: Sum = field(default_factory=Sum)
    tokens: Sum = field(default_factory=Sum)
    cost_usd: Sum = field(default_factory=Sum)
    seconds: Sum = field(default_factory=Sum)
    losses: Losses = field(default_factory=Losses)
    families: Families = field(default_factory=Families)
    stopped: Stopped = field(default_factory=Stopped)
    uncounted: Uncounted = field(default_factory=Uncounted)
    skill: SkillTally = field(default_factory=_skill_tally)
    rubric: RubricTally = field(default_factory=_rubric_tally)

    def add(self, trial: PlannedTrial, record: Record | None) -> None:
        """Take in a trial of this row with its record."""
        if not trial.counts:
            self.uncounted.add(trial, record)
            return
        status = Status.NOT_STARTED if record is None else record.status
        scenario = trial.scenario
        self.statuses[status] += 1
        self.scripted |= trial.scripted
        self.replayed |= trial.replayed
        self.facts.setdefault(scenario.id, scenario)
        if status is not Status.UNSUPPORTED:
            self.planned[scenario.id] += 1
        if not status.policy.graded and not self.messages.get(status):
            self.messages[status] = record.message if record else ""
        if record is None:
            return
        if record.sandbox:
            self.sandboxes[record.sandbox] += 1
        for flag in _flags(record):
            self.flags[flag] += 1
        outcome = outcome_of(record)
        self.skill.add(record, outcome)
        if outcome is not None and record.grade is not None:
            self._grade(scenario.id, record, record.grade, outcome)

    def _grade(self, scenario: str, record: Record, grade: Grade, outcome: Outcome) -> None:
        found = record.observed.get("conformance") or {}
        self.conformance = found if not self.graded or found == self.conformance else {}
        self.graded += 1
        self.passed += grade.passed
        self.reruns += bool(record.attempts)
        self.scripted |= record.scripted
        self.replayed |= record.replayed
        self.other_limits |= record.lock.get("timeout_multiplier", "1.0") != "1.0"
        self.other_limits |= "timeout_floor" in record.lock
        self.published |= record.lock.get("scoring") == "published"
        self.exposures.add(str(record.observed.get("exposure", "")))
        outcomes = self.outcomes.setdefault(scenario, [])
        if not first_time(record):
            self.repeats.setdefault(scenario, set()).add(len(outcomes))
            self.tuned |= Flag.RERUN in record.flags
        outcomes.append(outcome)
        self.steps.add(record.steps)
        self.tool_calls.add(record.tool_calls)
        self.tokens.add(record.usage.total_tokens)
        self.cost_usd.add(record.usage.cost_usd)
        self.seconds.add(record.seconds)
        self.stopped.add(record)
        if grade.rubric is not None:
            self.rubric.add(record, grade.rubric)
        if failed := grade.failed_checks:
            self.losses.add(record.scenario, grade)
            for check in failed:
                self.families.add(scenario, record.scenario.dimension, check)

    @property
    def supported(self) -> int:
        return self.planned.total()

    def scenarios(self) -> list[ScenarioScore]:
        """Scenarios that have a graded trial, in the order of the first of these."""
        return [
            ScenarioScore(facts=self.facts[id_], outcomes=tuple(o))
            for id_, o in self.outcomes.items()
        ]

    def clean(self) -> list[ScenarioScore]:
        """Scenarios with those graded trials that succeeded at once."""
        found = []
        for id_, outcomes in self.outcomes.items():
            repeats = self.repeats.get(id_, ())
            kept = tuple(o for place, o in enumerate(outcomes) if place not in repeats)
            if kept:
                found.append(ScenarioScore(facts=self.facts[id_], outcomes=kept))
        return found

    def bounds(self) -> list[ScenarioScore]:
        """All supported scenarios; trials without a score count as 0."""
        return [
            ScenarioScore(
                facts=self.facts[id_],
                outcomes=(*self.outcomes.get(id_, ()), *(_LOST,) * self._missing(id_)),
            )
            for id_ in self.planned
        ]

    def faults(self) -> Iterator[Fault]:
        for status in Status:
            if status in self.messages:
                yield Fault(
                    status=status.value,
                    counts=status.policy.counts,
                    times=self.statuses[status],
                    message=self.messages[status][:_SAMPLE],
                )

    def _missing(self, scenario: str) -> int:
        return self.planned[scenario] - len(self.outcomes.get(scenario, ()))


def outcome_of(record: Record | None) -> Outcome | None:
    """What a trial adds to the sums; None without a score."""
    if record is None or record.grade is None or not record.graded:
        return None
    grade = record.grade
    return Outcome(
        score=grade.score,
        capability=grade.capability,
        passed=grade.passed,
        strict=grade.strict,
        loose=grade.loose,
    )


def _flags(record: Record) -> list[str]:
    grade = record.grade
    flags = list(record.flags)
    if grade is not None:
        flags += grade.flags
        flags += [flag for check in grade.checks if check.flags for flag in check.flags]
    flags += [Flag.SURVIVORS] if record.survivors else []
    return list(dict.fromkeys(flags)) if flags else flags
