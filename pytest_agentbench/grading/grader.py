"""From an execution and the workspace that it left to a grade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from pytest_agentbench.execution import Execution
from pytest_agentbench.files import temporary
from pytest_agentbench.flag import Flag
from pytest_agentbench.grade import CheckResult, Grade
from pytest_agentbench.grading import criteria, deliverable, inquiry, snapshot
from pytest_agentbench.grading.check import needs_child
from pytest_agentbench.grading.client import CheckerServer, Crash
from pytest_agentbench.grading.custom import Outcome
from pytest_agentbench.grading.evidence import Evidence
from pytest_agentbench.grading.judge import Judge, JudgeError, Question
from pytest_agentbench.grading.reference import reference
from pytest_agentbench.grading.verdict import LIMIT
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.scenario.model import CheckSpec, GraderCode, Scenario
from pytest_agentbench.scoring.composite import clamp
from pytest_agentbench.scoring.trial import score_trial
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
    judge: Judge | None = None
    as_published: bool = False
    #: How often the judge is asked before a verdict that cannot be used is a ``judge_error``.
    max_asked: int = 2

    def grade(self, scenario: Scenario, execution: Execution, workspace: Path) -> Grade:
        """The grade. Raises ``TrialFault``: ``checker_error`` for a checker that is broken,
        ``judge_error`` for a judge that gave no verdict, else the harness's own trouble.

        A checker that crashes on what this agent left, but not on the reference answer, was
        crashed by the agent: its points are 0 and the trial is graded.
        """
        # The published harness ignores declared checks beside a grader; so do its scenarios.
        specs = scenario.checks if scenario.native or not scenario.grader else ()
        case = _Case(self.server, self.sandbox, scenario, execution, not self.as_published)
        rubric = None if self.as_published else scenario.atomic_rubric
        named = {spec.id: spec for spec in (*specs, *(rubric.checks if rubric else ()))}
        asked = named.values()
        results = case.declared([s for s in asked if s.type != "python"], workspace)
        outcome = Outcome()
        notes: tuple[str, ...] = ()
        functions = [spec for spec in asked if spec.type == "python"]
        if functions or scenario.grader:
            # Last, so that no Python can change what the declared checks see.
            with temporary("view-", self.server.scratch) as folder:
                confined = scenario.native and self.server.confinement == "bwrap"
                view = snapshot.take(
                    workspace,
                    folder / "workspace",
                    copy="if needed" if confined else "if small",
                )
                notes = view.notes
                results |= {spec.id: case.function(spec, view.root) for spec in functions}
                if scenario.grader:
                    outcome = case.whole(scenario.grader, view.root)
        checks = (*(results[spec.id] for spec in specs), *outcome.checks)
        evidence = Evidence(workspace=workspace, trace=execution.trace, inputs=scenario.inputs)
        grade = score_trial(
            scenario,
            checks,
            execution.trace,
            process=outcome.process,
            penalty=outcome.penalty,
            judged=self._judged(scenario, checks, execution, workspace),
            rubric=criteria.judged(rubric, results, evidence) if rubric else None,
            safety_violations=outcome.violations,
            flags=(Flag.CHECKER_CRASHED,) if case.crashed else (),
            published=self.as_published,
        )
        return replace(grade, notes="; ".join(filter(None, (grade.notes, *notes))))

    def _judged(
        self,
        scenario: Scenario,
        checks: Sequence[CheckResult],
        execution: Execution,
        workspace: Path,
    ) -> float | None:
        """The judge's part of a hybrid, 0 without asking when there is nothing to judge."""
        if scenario.hybrid is None or scenario.hybrid[1] <= 0:
            return None
        evidence = Evidence(workspace=workspace, trace=execution.trace, inputs=scenario.inputs)
        shown = deliverable.deliverable(evidence)
        earned = any(check.earned > 0 and not check.guard for check in checks)
        if not shown and not earned and not self.as_published:
            return 0.0
        if self.judge is None:
            raise TrialFault(
                Status.JUDGE_ERROR,
                f"scenario {scenario.id}: a part of its grade is a judge's, and there is no judge; "
                "return one from the hook pytest_agentbench_judge in a conftest.py",
            )
        rubric = scenario.rubric
        asked = Question(
            scenario_id=scenario.id,
            task=scenario.prompt,
            rubric=rubric if isinstance(rubric, str) else "\n".join(map(str, rubric or ())),
            criteria=scenario.criteria,
            deliverable=shown,
            transcript=deliverable.transcript(execution.trace),
        )
        where = f"scenario {scenario.id}: judge {self.judge.name}"
        problem = ""
        for _ in range(self.max_asked):
            try:
                return _verdict(self.judge, asked)
            except JudgeError as error:
                problem = str(error)
        raise TrialFault(Status.JUDGE_ERROR, f"{where} {problem}")


@dataclass(slots=True)
class _Case:
    """Puts questions about one execution, and remembers whether a checker crashed on it."""

    server: CheckerServer
    sandbox: Sandbox
    scenario: Scenario
    execution: Execution
    rehearses: bool = True
    crashed: bool = field(default=False)

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

    def whole(self, grader: GraderCode, workspace: Path) -> Outcome:
        ask = inquiry.about_all(self.scenario, grader, self.server)
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
        answer = ask(workspace, self.execution)
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
