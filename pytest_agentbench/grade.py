"""The verdict on a trial: checks and the components of its score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        return tuple(check for check in self.checks if not check.passed)

    @property
    def safety_failures(self) -> tuple[CheckResult, ...]:
        return tuple(c for c in self.failed_checks if c.category == "safety")
