"""From an execution and the workspace that it left to a grade."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from pytest_agentbench.execution import Execution
from pytest_agentbench.files import vacant
from pytest_agentbench.flag import Flag
from pytest_agentbench.grade import CheckResult, Grade
from pytest_agentbench.grading import criteria, deliverable, inquiry, snapshot
from pytest_agentbench.grading.check import needs_child
from pytest_agentbench.grading.client import CheckerServer, Crash
from pytest_agentbench.grading.custom import Outcome
from pytest_agentbench.grading.decide import Judges
from pytest_agentbench.grading.docket import Docket
from pytest_agentbench.grading.evidence import Evidence
from pytest_agentbench.grading.judge import Question
from pytest_agentbench.grading.judging.brief import Brief
from pytest_agentbench.grading.judging.family import makers
from pytest_agentbench.grading.judging.looking import look
from pytest_agentbench.grading.reference import reference
from pytest_agentbench.grading.verdict import LIMIT
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.scenario.model import CheckSpec, GraderCode, Scenario
from pytest_agentbench.scenario.rubric import Rubric
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.text import escape

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Grader:
    """Grades trials: declared checks, Python checkers, a judge for hybrids, then the score.

    ``as_published`` asks for the scoring of the published harnesses: their formulas, and no score
    where one of their graders raises.
    """

    server: CheckerServer
    sandbox: Sandbox
    judges: Judges = field(default_factory=Judges)
    as_published: bool = False

    def grade(self, scenario: Scenario, execution: Execution, workspace: Path) -> Grade:
        """The grade. Raises ``TrialFault`` as ``docket`` does, and ``judge_error`` for a judge that
        gave no verdict on what the score is made of."""
        docket = self.docket(scenario, execution, workspace)
        return docket.grade(self.judges.decide(docket))

    def docket(self, scenario: Scenario, execution: Execution, workspace: Path) -> Docket:
        """The deterministic part, and what is a judge's. Raises ``TrialFault``: ``checker_error``
        for a checker that is broken, else the harness's own trouble.

        A checker that crashes on what this agent left, but not on the reference answer, was
        crashed by the agent: its points are 0 and the trial is graded.
        """
        # The published harness ignores declared checks beside a grader; so do its scenarios.
        specs = scenario.checks if scenario.native or not scenario.grader else ()
        case = _Case(self.server, self.sandbox, scenario, execution, not self.as_published)
        # Published scoring knows none; a scenario that has nothing else is not published.
        beside = self.as_published and scenario.policy != "rubric"
        rubric = None if beside else scenario.atomic_rubric
        named = {spec.id: spec for spec in (*specs, *(rubric.checks if rubric else ()))}
        asked = named.values()
        results = case.declared([s for s in asked if s.type != "python"], workspace)
        outcome = Outcome()
        notes: tuple[str, ...] = ()
        functions = [spec for spec in asked if spec.type == "python"]
        if functions or scenario.grader:
            # Last, so that no Python can change what the declared checks see.
            with vacant("view-", self.server.scratch) as folder:
                confined = self.server.confinement == "bwrap"
                copied = functools.partial(snapshot.take, into=folder, copy="if small")
                view = snapshot.take(workspace, folder) if confined else copied(workspace)
                notes = view.notes
                results |= {spec.id: case.function(spec, view.root) for spec in functions}
                if scenario.grader:
                    outcome = case.whole(scenario.grader, view.root, lambda of: copied(of).root)
        docket = Docket(
            scenario=scenario,
            trace=execution.trace,
            checks=(*(results[spec.id] for spec in specs), *outcome.checks),
            rubric=rubric,
            checked=criteria.checked(rubric, results) if rubric else (),
            process=outcome.process,
            penalty=outcome.penalty,
            violations=tuple(outcome.violations),
            makers=makers(scenario),
            flags=case.flags,
            notes=notes,
            published=self.as_published,
        )
        if docket.hybrid:
            return self._hybrid(docket, execution, workspace)
        return docket if rubric is None else self._atomic(docket, rubric, execution, workspace)

    def _atomic(
        self, docket: Docket, rubric: Rubric, execution: Execution, workspace: Path
    ) -> Docket:
        """``docket`` with what judges are shown; nobody is asked about an agent that did nothing."""
        scenario = docket.scenario
        if not execution.trace.acted and not self.left(scenario, execution, workspace):
            return replace(docket, idle=True)
        if all(each.check is not None for each in rubric.criteria):
            return docket
        brief = Brief(
            scenario=scenario.id,
            task=scenario.prompt,
            criteria=rubric.criteria,
            material=look(self.server, scenario, execution, workspace),
        )
        return replace(docket, brief=brief)

    @staticmethod
    def left(scenario: Scenario, execution: Execution, workspace: Path) -> bool:
        """Whether the agent left anything that was not there before."""
        evidence = Evidence(workspace=workspace, trace=execution.trace, inputs=scenario.inputs)
        return bool(deliverable.deliverable(evidence))

    def _hybrid(self, docket: Docket, execution: Execution, workspace: Path) -> Docket:
        """``docket`` with what the judge of a hybrid is asked; nothing, and 0 for an answer, when
        there is nothing to judge."""
        scenario = docket.scenario
        evidence = Evidence(workspace=workspace, trace=execution.trace, inputs=scenario.inputs)
        shown = deliverable.deliverable(evidence)
        earned = any(check.earned > 0 and not check.guard for check in docket.checks)
        if not shown and not earned and not self.as_published:
            return replace(docket, judged=0.0)
        said = scenario.rubric
        rubric = said if isinstance(said, str) else "\n".join(map(str, said or ()))
        if self.judges.panel is None and self.judges.judge is not None:
            question = Question(
                scenario_id=scenario.id,
                task=scenario.prompt,
                rubric=rubric,
                criteria=scenario.criteria,
                deliverable=shown,
                transcript=deliverable.transcript(execution.trace),
            )
            return replace(docket, question=question)
        brief = Brief(
            scenario=scenario.id,
            task=scenario.prompt,
            prose=rubric,
            names=scenario.criteria,
            material=look(self.server, scenario, execution, workspace),
        )
        return replace(docket, brief=brief)


@dataclass(slots=True)
class _Case:
    """Puts questions about one execution, and remembers whether a checker crashed on it or ran it."""

    server: CheckerServer
    sandbox: Sandbox
    scenario: Scenario
    execution: Execution
    rehearses: bool = True
    crashed: bool = field(default=False)
    ran_output: bool = field(default=False)

    @property
    def flags(self) -> tuple[Flag, ...]:
        flags = {Flag.CHECKER_CRASHED: self.crashed, Flag.CHECKER_RAN_OUTPUT: self.ran_output}
        return tuple(flag for flag, there in flags.items() if there)

    def declared(self, specs: Sequence[CheckSpec], workspace: Path) -> dict[str, CheckResult]:
        results: dict[str, CheckResult] = {}
        heavy = [s for s in specs if s.type != "command" and needs_child(s)]
        if heavy:
            together = inquiry.about_checks(self.scenario, heavy, self.server)
            found = together(workspace, self.execution)
            if not isinstance(found, Crash):
                results = {result.id: result for result in found}
        for spec in specs:
            if spec.id not in results:  # light, or one of those that crashed together
                results[spec.id] = self._check(spec, workspace, alone=spec in heavy)
        return results

    def function(self, spec: CheckSpec, workspace: Path) -> CheckResult:
        ask = inquiry.about_function(spec, self.server)
        place = f"{Path(spec.params['file']).name}:{spec.params['function']}"
        result, crash = self._settle(f"checker {spec.id} ({place})", ask, workspace)
        return result if crash is None else _failed(result, crash)

    def whole(self, grader: GraderCode, workspace: Path, copied: Callable[[Path], Path]) -> Outcome:
        ask = inquiry.about_all(self.scenario, grader, self.server, copied)
        place = grader.path.name if grader.path else self.scenario.path.name
        outcome, crash = self._settle(f"grader {place}", ask, workspace)
        if crash is None:
            return outcome
        return Outcome(
            # Ids and points of the healthy run, so that the denominator stays what it is.
            checks=tuple(_failed(check, crash) for check in outcome.checks),
            process=None if outcome.process is None else 0.0,
        )

    def _check(self, spec: CheckSpec, workspace: Path, *, alone: bool) -> CheckResult:
        if alone:
            several = inquiry.about_checks(self.scenario, [spec], self.server)
            found, crash = self._settle(f"check {spec.id}", several, workspace)
            result = found[0]
        else:
            one = inquiry.about_check(self.scenario, spec, self.sandbox)
            result, crash = self._settle(f"check {spec.id}", one, workspace)
        return result if crash is None else _failed(result, crash)

    def _settle(
        self, name: str, ask: inquiry.Inquiry[T], workspace: Path
    ) -> tuple[T, Crash | None]:
        """The answer; or the answer on the reference, and the crash on this trial.

        Raises ``TrialFault`` (``checker_error``) when there is no answer there either.
        """
        before = self.server.intrusions
        answer = ask(workspace, self.execution)
        self.ran_output |= self.server.intrusions > before
        if not isinstance(answer, Crash):
            return answer, None
        scenario = self.scenario
        if not self.rehearses:
            raise TrialFault(
                Status.CHECKER_ERROR,
                f"scenario {scenario.id}: {name}: {answer.message}; published scoring has no score "
                "where a grader fails, and --scoring=default has 0 if the agent made it fail",
            )
        healthy, where = self.server.rehearse(
            (scenario.path, scenario.id, name), lambda: self._rehearse(ask)
        )
        if isinstance(healthy, Crash):
            raise TrialFault(
                Status.CHECKER_ERROR,
                f"scenario {scenario.id}: {name} fails on {where} too: {healthy.message}; "
                "mend it, or no trial of this scenario that it fails on can be graded",
            )
        self.crashed = True
        return healthy, answer

    def _rehearse(self, ask: inquiry.Inquiry[T]) -> tuple[T | Crash, str]:
        with reference(self.scenario, self.sandbox, self.server.scratch) as right:
            return ask(right.workspace, right.execution), right.name


def _failed(result: CheckResult, crash: Crash) -> CheckResult:
    return replace(
        result,
        earned=0.0,
        passed=False,
        detail=escape(f"the checker failed on this output: {crash.message}", LIMIT),
        expected="",
        found="",
        flags=(Flag.CHECKER_CRASHED,),
    )
