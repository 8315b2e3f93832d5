"""The verdict on a trial: checks and the components of its score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.scenario.rubric import Criterion


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The verdict of one check.

    ``earned`` is between 0 and ``points``. ``expected`` and ``found`` are short texts for
    people; they are capped and may hold hostile text of an agent's.
    """

    id: str
    type: str
    points: float
    earned: float
    passed: bool
    category: str = "correctness"
    severity: str = "major"
    guard: bool = False
    detail: str = ""
    expected: str = ""
    found: str = ""
    flags: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """Why it failed, in one text: the detail, or what was expected and found."""
        if self.detail or not (self.expected or self.found):
            return self.detail
        return f"expected {self.expected}, found {self.found}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What one of several judges said on a criterion; fields as in ``CriterionVerdict``."""

    judge: str
    met: bool | None
    level: float = 0.0
    quotes: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionVerdict:
    """The verdict on one criterion of a rubric.

    ``met`` says whether the statement holds; None is *does not apply*. ``level`` is the credit on
    the graded ladder from 0 to 1, higher is better whatever the polarity; without a ladder it is
    ``credit``. ``quotes`` and ``reason`` may hold hostile text of an agent's.
    """

    id: str
    kind: str
    category: str
    met: bool | None
    level: float = 0.0
    weight: float = 1.0
    must: bool = False
    gatekeeper: bool = False
    penalized: bool = False
    criterion_type: str = ""
    #: ``judge`` or ``check``.
    source: str = "judge"
    quotes: tuple[str, ...] = ()
    reason: str = ""
    judges: tuple[Vote, ...] = ()
    flags: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, criterion: Criterion, met: bool | None, level: float | None = None, **values: Any
    ) -> CriterionVerdict:
        """The verdict on ``criterion``; ``values`` are further fields of it.

        ``level`` counts only where the criterion has a ladder and applies.
        """
        credit = 0.0 if met is None else float(met is not criterion.penalized)
        if level is None or met is None or not criterion.ladder:
            level = credit
        return cls(
            id=criterion.id,
            kind=criterion.kind,
            category=criterion.category,
            met=met,
            level=level,
            weight=criterion.weight,
            must=criterion.must,
            gatekeeper=criterion.gatekeeper,
            penalized=criterion.penalized,
            criterion_type=criterion.criterion_type,
            **values,
        )

    @property
    def credit(self) -> float | None:
        """The binary verdict r of eq. 3, 0 or 1, higher is better; None if it does not apply."""
        return None if self.met is None else float(self.met is not self.penalized)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryScore:
    """One category of a rubric in one trial (Table 6): ``criteria`` counts those that apply."""

    category: str
    kind: str
    loose: float
    strict: float
    criteria: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricGrade:
    """What a rubric says of a trial: eq. 3 of SkillForgeBench for both kinds of criteria.

    Scores lie in [0, 1]; None where no criterion of the kind applies, or where there is no
    verdict: then ``message`` says why. ``gated`` is the loose completion score, capped when a
    gate failed; ``gates_failed`` are the ids of those gates. ``usage`` is what judging cost,
    apart from the agent's.
    """

    verdicts: tuple[CriterionVerdict, ...] = ()
    completion_loose: float | None = None
    completion_strict: float | None = None
    process_loose: float | None = None
    process_strict: float | None = None
    gated: float | None = None
    gates_failed: tuple[str, ...] = ()
    categories: tuple[CategoryScore, ...] = ()
    judges: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    message: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """Score of a trial and what it is made of, all between 0 and 1.

    ``correctness`` C, ``process`` P, ``gate`` G, ``penalty`` E and ``capability`` are those of
    ClawProBench §3.5; ``loose`` and ``strict`` are the share of checks passed and whether all
    passed (SkillForgeBench eq. 3 on check verdicts).
    """

    policy: str
    threshold: float
    checks: tuple[CheckResult, ...] = ()
    correctness: float = 0.0
    process: float = 0.0
    gate: float = 1.0
    penalty: float = 0.0
    capability: float = 0.0
    score: float = 0.0
    loose: float = 0.0
    strict: bool = False
    passed: bool = False
    sub_problems: Mapping[str, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    notes: str = ""
    rubric: RubricGrade | None = None

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        return tuple([check for check in self.checks if not check.passed])

    @property
    def safety_failures(self) -> tuple[CheckResult, ...]:
        return tuple([c for c in self.failed_checks if c.category == "safety"])
