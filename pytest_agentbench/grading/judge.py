"""What a judge is, and one that answers from a script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a judge is asked: one rubric over one deliverable."""

    scenario_id: str
    task: str
    rubric: str
    criteria: tuple[str, ...]
    deliverable: str
    transcript: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Scores by criterion, each between 0 and 1, and the overall one."""

    total: float
    scores: Mapping[str, float] = field(default_factory=dict)
    notes: str = ""


class JudgeError(Exception):
    """The judge gave no usable verdict. It never becomes a score."""


class Judge(Protocol):
    name: str

    def judge(self, question: Question) -> Judgement:
        """Raises ``JudgeError``."""


@dataclass(frozen=True, slots=True)
class ScriptedJudge:
    """Answers from a table by scenario id, else ``default``; None is an unusable verdict."""

    default: float | None = 0.5
    answers: Mapping[str, float | None] = field(default_factory=dict)
    name: str = "scripted"

    def judge(self, question: Question) -> Judgement:
        total = self.answers.get(question.scenario_id, self.default)
        if total is None:
            raise JudgeError(f"the scripted judge has no verdict on {question.scenario_id}")
        return Judgement(total=total, scores=dict.fromkeys(question.criteria, total))
