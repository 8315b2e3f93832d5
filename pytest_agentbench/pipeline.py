"""Runs the phases of a trial in order, each in a fresh workspace."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_agentbench.execution import Execution
from pytest_agentbench.first_run import first_run
from pytest_agentbench.grade import Grade
from pytest_agentbench.journal import Journal, Left
from pytest_agentbench.phase_record import PhaseFacts
from pytest_agentbench.prefixes import EVIDENCE
from pytest_agentbench.runner import RunFault, skills_folder
from pytest_agentbench.runtimes.protocol import Runtime
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.skill import MadeSkill, Offer
from pytest_agentbench.skills.harvest import harvest
from pytest_agentbench.status import Status, TrialFault, status_of
from pytest_agentbench.trial import Phase, Trial
from pytest_agentbench.workspace import Workspace, contents

if TYPE_CHECKING:
    from pytest_agentbench.grading.docket import Docket
    from pytest_agentbench.grading.judging.decision import Decision

#: Findings of one skill that are told.
_TOLD = 20
#: Runs one phase with skills, in a workspace, and returns what it gave. Raises ``TrialFault``.
Run = Callable[[Phase, tuple[Offer, ...], Workspace], Execution]


@dataclass(slots=True, kw_only=True)
class Pipeline:
    """One trial's phases; ``facts`` are those of the phases so far.

    ``decide`` puts an execution to checks and judges; ``keep`` writes its files of evidence into a
    folder. ``findings`` are what speaks against giving a skill to another agent; with ``refuses``,
    one that has any is not given.
    """

    trial: Trial
    runtime: Runtime
    workspace: Workspace
    journal: Journal
    run: Run
    decide: Callable[[Execution], tuple[Docket, Decision]]
    keep: Callable[[Phase, Execution, Grade | None, Path], object]
    findings: Callable[[Path], tuple[str, ...]]
    refuses: bool = False
    published: bool = False
    facts: list[PhaseFacts] = field(default_factory=list)
    #: Phase and folder of each skill that agents made, as it was.
    made: list[tuple[str, Path]] = field(default_factory=list)
    _made: tuple[Path, ...] = ()
    _evidence: bytes = b""

    def go(self, given: tuple[Offer, ...] | None = None) -> Execution:
        """Run what has not been run; the graded phase's execution.

        ``given`` stands in for the skills of the graded phase. Raises ``TrialFault``.
        """
        graded = self.trial.graded_phase
        before = [phase for phase in self.trial.phases if phase is not graded]
        if before and self.workspace.fill is None:
            self.workspace = self._refillable()
        for phase in before:
            if (left := self.journal.load(phase.name)) is not None:
                self.facts.append(dataclasses.replace(left.facts, kept=True))
            else:
                left = self._prepare(phase)
            if phase.role != "execute":
                self._made = left.skills
                self.made += [(phase.name, folder) for folder in left.skills]
            self._evidence = left.evidence or self._evidence
        if before:
            self.workspace.reset()
        offers = (graded.skills if given is None else given) or ()
        execution = self._run(graded, offers, self.workspace)
        self.facts.append(PhaseFacts.of(graded, execution))
        return execution

    def _refillable(self) -> Workspace:
        """The workspace, such that each phase can begin with what is in it now."""
        copy = self._scratch / "origin"
        shutil.copytree(self.workspace.root, copy, symlinks=True)

        def fill(root: Path) -> None:
            shutil.copytree(copy, root, symlinks=True, dirs_exist_ok=True)

        return dataclasses.replace(self.workspace, fill=fill)

    def _with_evidence(self) -> Workspace:
        """The workspace, such that who begins in it finds how the first run went."""
        evidence, before = self._evidence, self.workspace.fill

        def fill(root: Path) -> None:
            if before is not None:
                before(root)
            (root / EVIDENCE).parent.mkdir(parents=True, exist_ok=True)
            (root / EVIDENCE).write_bytes(evidence)

        return dataclasses.replace(self.workspace, fill=fill)

    @property
    def _scratch(self) -> Path:
        return self.workspace.root.parent

    def _prepare(self, phase: Phase) -> Left:
        """Run a phase that others come after."""
        root = self.workspace.root
        told = phase.role == "summarise" and self._evidence
        workspace = self._with_evidence() if told else self.workspace
        workspace.reset()
        were = contents(root)
        execution = self._run(phase, phase.skills or (), workspace)
        written = _written(were, contents(root), root)
        facts = PhaseFacts.of(phase, execution)
        grade: Grade | None = None
        evidence = b""
        skills: tuple[Path, ...] = ()
        if phase.scored:
            facts, grade = self._scored(facts, execution)
            evidence = first_run(
                self.trial.scenario, execution, grade, written, root, published=self.published
            )
        if phase.role != "execute":
            made, skills = self._harvest(phase)
            early = sorted(set(written) & _deliverables(self.trial.scenario))
            facts = dataclasses.replace(facts, made=made, outputs_written=tuple(early))
        self.facts.append(facts)
        left = Left(facts=facts, skills=skills, evidence=evidence)
        artefacts = self._scratch / f"evidence-{phase.name}"
        try:
            self.keep(phase, execution, grade, artefacts)
            self.journal.keep(left, artefacts if artefacts.is_dir() else None)
        except OSError as error:
            raise TrialFault(status_of(error), f"a phase cannot be kept: {error}") from error
        return left

    def _run(self, phase: Phase, offers: tuple[Offer, ...], workspace: Workspace) -> Execution:
        if phase.reuses:
            offers = (*offers, *(Offer(folder=folder) for folder in self._made))
        try:
            return self.run(phase, offers, workspace)
        except RunFault as fault:
            self.facts.append(PhaseFacts.of(phase, fault.execution))
            raise

    def _scored(self, facts: PhaseFacts, execution: Execution) -> tuple[PhaseFacts, Grade | None]:
        """The grade of a phase that is not the trial's; a grader's fault leaves it without one."""
        scenario = self.trial.scenario
        if not (scenario.checks or scenario.grader or scenario.hybrid or scenario.atomic_rubric):
            return facts, None  # a test in Python, which is its own check, at the end
        try:
            docket, decision = self.decide(execution)
            if decision.judges:
                facts = dataclasses.replace(facts, judging=decision.usage)
            grade = docket.grade(decision)
        except TrialFault as fault:
            if fault.status not in (Status.CHECKER_ERROR, Status.JUDGE_ERROR):
                self.facts.append(facts)
                raise
            return dataclasses.replace(facts, message=str(fault)), None
        return dataclasses.replace(facts, score=grade.score, strict=grade.strict), grade

    def _harvest(self, phase: Phase) -> tuple[tuple[MadeSkill, ...], tuple[Path, ...]]:
        folder = self.workspace.root / skills_folder(phase, self.runtime)
        into = self._scratch / f"made-{phase.name}"
        seeded = frozenset(offer.name for offer in phase.skills or () if offer.seeded)
        try:
            found = harvest(folder, into, seeded)
        except OSError as error:
            raise TrialFault(status_of(error), f"skills cannot be copied: {error}") from error
        made = tuple(self._judged(skill, into) for skill in found)
        return made, tuple(into / skill.name for skill in made if not skill.refused)

    def _judged(self, skill: MadeSkill, into: Path) -> MadeSkill:
        """The skill with what was found in it, refused for that if it is to be."""
        if skill.refused or not (found := self.findings(into / skill.name)):
            return skill
        if self.refuses:
            return dataclasses.replace(skill, refused=found[0])
        return dataclasses.replace(skill, deviations=(*skill.deviations, *found[:_TOLD]))


def _written(
    before: tuple[tuple[str, int, int], ...], after: tuple[tuple[str, int, int], ...], root: Path
) -> list[str]:
    """Paths, relative to ``root``, of what is new or not as it was."""
    were = set(before)
    start = len(str(root)) + 1
    return [entry[0][start:] for entry in after if entry not in were]


def _deliverables(scenario: Scenario) -> set[str]:
    """Files that the task asks for: what the solution writes, and what checks look at."""
    written = {step.path for step in scenario.solution if step.verb in ("write", "edit")}
    named = {text for check in scenario.checks for text in _texts(check.params)}
    return written | (named - {item.dest for item in scenario.inputs})


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
