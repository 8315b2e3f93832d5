"""Puts what is a judge's to whoever judges: a panel, or the judge of a hook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_agentbench.grading.docket import Docket
from pytest_agentbench.grading.judge import Judge, JudgeError, Question
from pytest_agentbench.grading.judging.brief import Brief
from pytest_agentbench.grading.judging.decision import Decision
from pytest_agentbench.scoring.composite import clamp

if TYPE_CHECKING:
    from pytest_agentbench.grading.judging.panel import Panel  # which needs an HTTP client

_NAME_ONE = "name one with --judge=NAME, a model of [tool.agentbench.models]"
_LATER = "what it is to see is kept for agentbench regrade"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """Who may be asked. A ``panel`` decides everything; the ``judge`` of a hook hybrids alone.

    ``max_asked`` is how often the latter is asked for a verdict that can be used.
    """

    panel: Panel | None = None
    judge: Judge | None = None
    max_asked: int = 2

    @property
    def names(self) -> tuple[str, ...]:
        if self.panel is not None:
            return self.panel.names
        return (str(getattr(self.judge, "name", "")),) if self.judge is not None else ()

    def decide(self, docket: Docket) -> Decision:
        """The decision; its ``message`` says why there is none. Raises ``TrialFault``."""
        brief = docket.brief
        if docket.question is not None and self.panel is None and self.judge is not None:
            return _asked(self.judge, docket.question, self.max_asked)
        if brief is None or docket.idle or not (_open(brief) or docket.hybrid):
            return Decision()
        if docket.judged is not None:
            return Decision()
        if self.panel is None:
            return Decision(lacking=_nobody(brief))
        if brief.material.unread:
            unread = "; ".join(brief.material.unread)
            return Decision(lacking=f"what the agent left cannot be shown to a judge: {unread}")
        return self.panel.decide(brief)


def _open(brief: Brief) -> int:
    """How many criteria are a judge's."""
    return sum(each.check is None for each in brief.criteria)


def _nobody(brief: Brief) -> str:
    if brief.prose:
        return (
            f"a part of its grade is a judge's, and there is no judge; {_NAME_ONE}, or return one "
            "from the hook pytest_agentbench_judge in a conftest.py"
        )
    return (
        f"{_open(brief)} criteria of its rubric are a judge's, and there is no judge; {_NAME_ONE} "
        f"({_LATER})"
    )


def _asked(judge: Judge, question: Question, times: int) -> Decision:
    problem = ""
    for _ in range(times):
        try:
            return Decision(total=_verdict(judge, question))
        except JudgeError as error:
            problem = str(error)
    return Decision(lacking=f"judge {judge.name} {problem}")


def _verdict(judge: Judge, question: Question) -> float:
    """From 0 to 1. Raises ``JudgeError`` for whatever else a judge does, in words."""
    try:
        total = judge.judge(question).total
    except JudgeError as error:
        raise JudgeError(f"gave no verdict: {error}") from error
    except Exception as error:
        raise JudgeError(f"raised {type(error).__name__}: {error}") from error
    if not isinstance(total, int | float) or clamp(total) != total:
        raise JudgeError(f"gave {total!r}; a verdict is a number from 0 to 1")
    return float(total)
