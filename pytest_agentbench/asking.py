"""Puts statements of a Python test to the judges of the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.draft import Draft
from pytest_agentbench.execution import Usage, total
from pytest_agentbench.grade import CriterionVerdict
from pytest_agentbench.grading.judging.brief import Brief
from pytest_agentbench.grading.judging.looking import look
from pytest_agentbench.grading.judging.panel import Panel
from pytest_agentbench.plain import plain
from pytest_agentbench.scenario.rubric import TOPICS, Criterion, Rubric
from pytest_agentbench.scoring.rubric import IDLE, grade_rubric
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.text import escape

_WIDTH = 200
#: The category of a statement for which the test names none.
_USUAL = {"completion": "domain_operationalization", "process": "phase_adherence"}


@dataclass(slots=True)
class Asking:
    """The fixture ``rubric``: each ``expect`` is a criterion of the trial's rubric."""

    record: Draft
    criteria: list[Criterion] = field(default_factory=list)
    verdicts: list[CriterionVerdict] = field(default_factory=list)
    used: list[Usage] = field(default_factory=list)

    def expect(
        self,
        statement: str,
        *,
        kind: str = "completion",
        look_for: str = "",
        not_enough: tuple[str, ...] = (),
    ) -> CriterionVerdict:
        """See that the judges find ``statement`` to hold of the agent's last run.

        ``kind`` is ``completion`` for what was left, ``process`` for the way there; ``look_for`` and
        ``not_enough`` guide the judges. Raises ``AssertionError``; ``TrialFault`` (``judge_error``)
        where there is no verdict, which is no failure of the agent's.
        """
        if kind not in _USUAL:
            raise ValueError(f"kind must be {' or '.join(_USUAL)}, not {kind!r}")
        criterion = Criterion(
            id=f"expected_{len(self.criteria) + 1}",
            statement=statement,
            kind=kind,
            category=TOPICS[_USUAL[kind]].name,
            look_for=look_for,
            false_positives=tuple(not_enough),
        )
        verdict = self._verdict(criterion)
        self.criteria.append(criterion)
        self.verdicts.append(verdict)
        self.record.rubric = grade_rubric(
            Rubric(criteria=tuple(self.criteria), path=Path(self.record.trial.scenario.path)),
            self.verdicts,
            judges=self._panel().names,
            usage=total(self.used),
        )
        if not verdict.met:
            raise AssertionError(
                f"the judge does not find that {escape(statement, _WIDTH)!r} holds\n"
                f"  expected: met\n"
                f"  found:    {escape(verdict.reason or 'not met', _WIDTH)}\n"
                f"  judged by {', '.join(escape(name, 60) for name in self._panel().names)}"
            )
        return verdict

    def _panel(self) -> Panel:
        panel = self.record.bench.judges.panel
        if panel is None:
            raise TrialFault(
                Status.JUDGE_ERROR,
                "rubric.expect needs a judge, and there is none; name one with --judge=NAME",
            )
        return panel

    def _verdict(self, criterion: Criterion) -> CriterionVerdict:
        panel, execution = self._panel(), self.record.execution
        if execution is None:
            raise ValueError("rubric.expect is about a run of the agent's; call agent.run first")
        grader, root = self.record.grader()
        if not execution.trace.acted and not grader.left(
            self.record.trial.scenario, execution, root
        ):
            return CriterionVerdict.of(criterion, False, source="check", reason=IDLE)
        scenario = self.record.trial.scenario
        brief = Brief(
            scenario=scenario.id,
            task=self.record.prompt,
            criteria=(criterion,),
            material=look(grader.server, scenario, execution, root),
        )
        decision = panel.decide(brief)
        self.used.append(decision.usage)
        self.record.observed["judging"] = {"usage": plain(total(self.used))}
        if decision.stopped:
            raise TrialFault(Status.INTERRUPTED, decision.stopped)
        if not decision.verdicts:
            raise TrialFault(Status.JUDGE_ERROR, decision.message)
        return decision.verdicts[0]
