"""All that a grade is made of beside what judges say: enough to make it, and to make it again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from pytest_agentbench.flag import Flag
from pytest_agentbench.grade import CheckResult, CriterionVerdict, Grade, RubricGrade
from pytest_agentbench.grading.judge import Question
from pytest_agentbench.grading.judging.brief import Brief
from pytest_agentbench.grading.judging.decision import Decision
from pytest_agentbench.plain import plain
from pytest_agentbench.scenario.model import Form, Scenario
from pytest_agentbench.scenario.rubric import Rubric
from pytest_agentbench.scoring.rubric import grade_rubric, idle_verdicts
from pytest_agentbench.scoring.trial import score_trial
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trace.events import Trace

#: What scoring looks at in a scenario; all else of it is in the verdicts.
_FACTS = (
    *("id", "policy", "pass_threshold", "severity", "hybrid", "tools", "expected_tools"),
    *("ideal_tool_sequence", "optimal_steps", "efficiency_penalty_cap", "efficiency_penalty_rate"),
)
_TUPLES = ("hybrid", "tools", "expected_tools", "ideal_tool_sequence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Docket:
    """The deterministic part of a grade, and what is a judge's to decide.

    ``checked`` are the criteria that checks have decided. ``process`` and ``penalty`` are a grader's
    own. ``spoilt`` says why the trial cannot pass, whatever its score. ``idle``: the agent did nothing and left nothing, so nobody is asked. ``judged`` is the judge's part of a hybrid where nobody need be asked. What is a judge's is
    in ``brief``, or in ``question`` for the judge of a hook.
    """

    scenario: Scenario
    trace: Trace
    checks: tuple[CheckResult, ...] = ()
    rubric: Rubric | None = None
    checked: tuple[CriterionVerdict, ...] = ()
    process: float | None = None
    penalty: float | None = None
    violations: tuple[str, ...] = ()
    spoilt: str = ""
    idle: bool = False
    judged: float | None = None
    #: Families of models by what they did: ``drafter``, ``generator``.
    makers: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    published: bool = False
    brief: Brief | None = None
    question: Question | None = None

    @property
    def hybrid(self) -> bool:
        """Whether a part of the score is a judge's."""
        return self.scenario.hybrid is not None and self.scenario.hybrid[1] > 0

    def grade(self, decision: Decision) -> Grade:
        """The grade with what the judges say. Raises ``TrialFault`` where that leaves no score.

        Where the run's budget ended the asking, more of it may still get their word: that is no
        grade either.
        """
        if decision.stopped:
            raise TrialFault(Status.INTERRUPTED, decision.stopped)
        flags = self.flags
        if self.brief is not None and self.brief.material.attempts:
            flags = (*flags, Flag.JUDGE_ADDRESSED)
        judged = self.judged if decision.total is None else decision.total
        if judged is None and self.hybrid:
            raise TrialFault(Status.JUDGE_ERROR, f"scenario {self.scenario.id}: {decision.message}")
        grade = score_trial(
            self.scenario,
            self.checks,
            self.trace,
            process=self.process,
            penalty=self.penalty,
            judged=judged,
            rubric=self._rubric(decision),
            safety_violations=self.violations,
            flags=flags,
            published=self.published,
        )
        notes = "; ".join(filter(None, (grade.notes, *self.notes, self.spoilt)))
        return dataclasses.replace(grade, notes=notes, passed=grade.passed and not self.spoilt)

    def _rubric(self, decision: Decision) -> RubricGrade | None:
        if self.rubric is None:
            return None
        if self.idle:
            return grade_rubric(self.rubric, idle_verdicts(self.rubric))
        return grade_rubric(
            self.rubric,
            (*self.checked, *decision.verdicts),
            judges=[str(judge["name"]) for judge in decision.judges],
            usage=decision.usage,
            message=decision.message,
        )

    def to_json(self) -> dict[str, Any]:
        """Everything but the trace, which has a file of its own."""
        return {
            "scenario": {
                "form": self.scenario.form.value,
                **{name: plain(getattr(self.scenario, name)) for name in _FACTS},
            },
            **{
                name: plain(getattr(self, name))
                for name in self.__dataclass_fields__
                if name not in ("scenario", "trace", "rubric", "question")
            },
            "has_rubric": self.rubric is not None,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], trace: Trace) -> Self:
        """Raises ``KeyError``, ``TypeError`` and ``ValueError``."""
        said = dict(data["scenario"])
        form = Form(said.pop("form"))
        facts: dict[str, Any] = {
            name: tuple(value) if name in _TUPLES and value is not None else value
            for name, value in said.items()
        }
        brief = Brief.from_json(data["brief"]) if data["brief"] else None
        return cls(
            scenario=Scenario(path=Path(facts["id"]), prompt="", form=form, **facts),
            trace=trace,
            checks=tuple(CheckResult(**{**c, "flags": tuple(c["flags"])}) for c in data["checks"]),
            rubric=brief.rubric if brief and data["has_rubric"] else None,
            checked=tuple(map(_verdict, data["checked"])),
            process=data["process"],
            penalty=data["penalty"],
            violations=tuple(data["violations"]),
            spoilt=data["spoilt"],
            idle=data["idle"],
            judged=data["judged"],
            makers=data["makers"],
            flags=tuple(data["flags"]),
            notes=tuple(data["notes"]),
            published=data["published"],
            brief=brief,
        )


def _verdict(data: Mapping[str, Any]) -> CriterionVerdict:
    lists = {name: tuple(data[name]) for name in ("quotes", "judges", "flags")}
    return CriterionVerdict(**{**data, **lists})
