"""Proof that a scenario measures something: what must score 1, what 0, what must fail where."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentbench import modes
from pytest_agentbench.grade import Grade
from pytest_agentbench.grading.client import CheckerServer
from pytest_agentbench.grading.grader import Grader
from pytest_agentbench.lint_skills import alike, leaks
from pytest_agentbench.runner import run_phase
from pytest_agentbench.runtimes.registry import ADAPTERS
from pytest_agentbench.sandbox import leftovers
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.scenario.model import CheckSpec, Scenario, Step
from pytest_agentbench.scenario.rubric_contrast import problems
from pytest_agentbench.status import TrialFault
from pytest_agentbench.trial import RuntimeProfile, Trial
from pytest_agentbench.workspace import Workspace, materialise

#: Least numbers of a native scenario.
LEAST_INPUTS, LEAST_CHECKS, LEAST_PROBES = 3, 6, 3
#: A model that copies its first input to every output must stay below this score.
COPY_LIMIT = 0.3
#: Shorter texts stand in inputs by chance.
_LEAKS_FROM = 4
_TEXT_INPUT = 1 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a scenario: the rule's name and the evidence."""

    rule: str
    text: str


@dataclass(frozen=True, slots=True)
class Linter:
    """Runs a scenario's solution, probes and degenerate answers through the real grader."""

    server: CheckerServer
    sandbox: Sandbox

    def lint(self, scenario: Scenario, others: Sequence[Scenario] = ()) -> tuple[Finding, ...]:
        """All findings; none for scenarios of published forms that merely load and grade.

        ``others`` are those among which siblings are looked for.
        """
        siblings = (Finding("sibling", text) for text in alike(scenario, others))
        return (*self._findings(scenario), *siblings)

    def _findings(self, scenario: Scenario) -> Iterator[Finding]:
        rubric = scenario.atomic_rubric
        if rubric is not None:
            yield from (Finding("rubric", str(each)) for each in problems(rubric, scenario))
            if scenario.policy == "rubric" and any(rubric.judged.values()):
                return  # what is left to prove takes a judge: agentbench calibrate
        nothing = self._grade(scenario, "nop", ())
        if isinstance(nothing, Finding):
            yield nothing
            return
        if not scenario.native:
            return
        yield from _size(scenario)
        yield from _guards(nothing)
        if nothing.score != 0 or nothing.passed:
            yield Finding("nop", f"doing nothing scores {nothing.score}, not 0")
        yield from _leaks(scenario)
        yield from (Finding("skill", text) for text in leaks(scenario))
        copied = self._grade(scenario, "copy", copying(scenario))
        if isinstance(copied, Finding):
            yield copied
        elif copied.score >= COPY_LIMIT:
            yield Finding(
                "copy", f"copying the first input scores {copied.score}, not below {COPY_LIMIT}"
            )
        if not scenario.solution:
            yield Finding("solution", "there is no solution, so nothing proves a full score")
            return
        yield from self._right(scenario, "solution", scenario.solution)
        for other in scenario.alternatives:
            yield from self._right(scenario, f"alternative {other.name!r}", other.steps)
        failed: set[str] = set()
        for probe in scenario.probes:
            grade = self._grade(scenario, f"probe {probe.name!r}", probe.steps)
            if isinstance(grade, Finding):
                yield grade
                continue
            ids = {check.id for check in grade.failed_checks}
            failed |= ids
            if ids != set(probe.fails):
                yield Finding(
                    "probe",
                    f"probe {probe.name!r} fails {_names(ids)}; it names {_names(probe.fails)}",
                )
            if grade.passed != probe.passes:
                does = "passes" if grade.passed else "fails"
                yield Finding(
                    "probe",
                    f"probe {probe.name!r} {does} the scenario with {grade.score}; it says "
                    f"passes: {str(probe.passes).lower()}",
                )
        never = [check.id for check in nothing.checks if check.id not in failed]
        if never:
            yield Finding("unproven", f"no probe fails {_names(never)}")

    def _right(self, scenario: Scenario, name: str, steps: Sequence[Step]) -> Iterator[Finding]:
        grade = self._grade(scenario, name, steps)
        if isinstance(grade, Finding):
            yield grade
        elif grade.score != 1 or not grade.passed or not grade.strict:
            found = "; ".join(f"{c.id}: {c.reason}" for c in grade.failed_checks)
            yield Finding(
                "full score",
                f"{name} scores {grade.score}, not 1 (C {grade.correctness}, P {grade.process}, "
                f"gate {grade.gate}, penalty {grade.penalty}){': ' + found if found else ''}",
            )
        elif grade.rubric is not None:
            for verdict in grade.rubric.verdicts:
                if verdict.credit == 0:
                    yield Finding("rubric", f"{name} fails {verdict.id}: {verdict.reason}")

    def _grade(self, scenario: Scenario, name: str, steps: Sequence[Step]) -> Grade | Finding:
        adapter = "oracle" if steps else "nop"
        profile = RuntimeProfile(name=adapter, adapter=adapter)
        trial = Trial(
            scenario=scenario,
            runtime=profile,
            mode="baseline",
            index=1,
            phases=modes.phases(modes.MODES["baseline"], scenario, 1.0),
            max_attempts=1,
        )
        try:
            with leftovers.temporary() as folder:
                fill = functools.partial(materialise, trial.scenario.inputs)
                workspace = Workspace(folder / "ws", fill)
                workspace.reset()
                execution = run_phase(
                    trial,
                    runtime=ADAPTERS[adapter](profile),
                    sandbox=self.sandbox,
                    root=folder,
                    workspace=workspace,
                    steps=tuple(steps),
                )
                return Grader(self.server, self.sandbox).grade(scenario, execution, workspace.root)
        except TrialFault as fault:
            return Finding("fault", f"{name}: {fault.status}: {fault}")


def copying(scenario: Scenario) -> tuple[Step, ...]:
    """What a model does that copies its first input to every output that a check reads."""
    if not scenario.inputs:
        return ()
    first = scenario.inputs[0]
    content = first.read().decode("utf-8", "replace")
    inputs = {entry.dest for entry in scenario.inputs}
    outputs = dict.fromkeys(
        str(check.params["path"])
        for check in scenario.checks
        if "path" in check.params
        and check.type not in ("file_absent", "audit_state_match")
        and check.params["path"] not in inputs
    )
    writes = tuple(Step(verb="write", path=path, content=content) for path in outputs)
    return (Step(verb="read", path=first.dest), *writes, Step(verb="say", text=content[:2000]))


def _size(scenario: Scenario) -> Iterator[Finding]:
    counts = (
        ("inputs", len(scenario.inputs), LEAST_INPUTS),
        ("checks", len(scenario.checks), LEAST_CHECKS),
        ("probes", len(scenario.probes), LEAST_PROBES),
    )
    for what, count, least in counts:
        if count < least and not (what == "checks" and scenario.grader):
            yield Finding("size", f"{count} {what}; at least {least} are needed")
    if scenario.probes and not any(probe.plausible for probe in scenario.probes):
        yield Finding("size", "no probe is plausible: the right form with one rule misapplied")


def _guards(nothing: Grade) -> Iterator[Finding]:
    for check in nothing.checks:
        if check.passed and not check.guard:
            yield Finding(
                "guard", f"{check.id} passes on the untouched workspace: declare guard: true"
            )
        if check.guard and not check.passed:
            yield Finding("guard", f"{check.id} is a guard and fails on the untouched workspace")


def _leaks(scenario: Scenario) -> Iterator[Finding]:
    texts = {
        entry.dest: entry.read()[:_TEXT_INPUT].decode("utf-8", "replace")
        for entry in scenario.inputs
    }
    for check in scenario.checks:
        for value in expected_texts(check):
            pattern = re.compile(rf"(?<![\w.]){re.escape(value)}(?![\w]|\.\d)")
            for dest, text in texts.items():
                if pattern.search(text):
                    yield Finding("leak", f"{check.id}: {value!r} can be read in {dest}")


def expected_texts(check: CheckSpec) -> tuple[str, ...]:
    """Texts of a check's expected value that may stand in no input.

    Computed values only: numbers of four or more characters and lists as a whole. Names and
    ids are chosen among the inputs, so they must stand there.
    """
    if check.guard:
        return ()
    found: list[str] = []
    for key in ("equals", "approx", "unordered", "one_of"):
        if key in check.params:
            found.extend(_texts(check.params[key], several=key == "one_of"))
    return tuple(dict.fromkeys(found))


def _texts(value: Any, *, several: bool) -> Iterator[str]:
    if several and isinstance(value, list):
        for one in value:
            yield from _texts(one, several=False)
    elif isinstance(value, bool):
        return
    elif isinstance(value, int | float):
        for text in (f"{value}", f"{value:,}", f"{value:.2f}", f"{value:,.2f}"):
            if len(text) >= _LEAKS_FROM:
                yield text
    elif isinstance(value, list) and len(value) > 1:
        parts = [str(one) for one in value]
        yield from (separator.join(parts) for separator in (", ", ",", "\n", " "))


def _names(ids: Sequence[str] | set[str]) -> str:
    return ", ".join(sorted(ids)) or "nothing"
