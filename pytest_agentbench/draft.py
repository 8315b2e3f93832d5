"""The record of a trial in the making."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_agentbench.bench import Bench
from pytest_agentbench.execution import Execution
from pytest_agentbench.flag import Flag
from pytest_agentbench.grade import Grade, RubricGrade
from pytest_agentbench.phase_record import PhaseFacts
from pytest_agentbench.record import PlannedTrial
from pytest_agentbench.report.failure import failure_text
from pytest_agentbench.runner import RunFault, run_phase, told
from pytest_agentbench.runtimes.protocol import Runtime
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.skill import Offer
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trial import Phase, Trial
from pytest_agentbench.workspace import Workspace, contents

if TYPE_CHECKING:
    from pytest_agentbench.grading.docket import Docket
    from pytest_agentbench.grading.grader import Grader
    from pytest_agentbench.grading.judging.decision import Decision
    from pytest_agentbench.journal import Journal
    from pytest_agentbench.pipeline import Pipeline, Run
    from pytest_agentbench.report.changes import Change

#: The folder, beside the workspace, with what lay there before the agent came, if that is not just
#: the scenario's inputs.
START = "start"


@dataclass(slots=True)
class Draft:
    """A record in the making: what the trial's fixtures and its test know so far.

    ``observed`` may be given any JSON values; they end in the record's field of that name.
    """

    trial: Trial
    bench: Bench
    workspace: Workspace | None = None
    sandbox: Sandbox | None = None
    execution: Execution | None = None
    #: What the agent was told, last.
    prompt: str = ""
    grade: Grade | None = None
    #: What judges said to a test in Python that asked them.
    rubric: RubricGrade | None = None
    #: What the grade is made of, once the deterministic part of it is known.
    docket: Docket | None = None
    phases: list[PhaseFacts] = field(default_factory=list)
    #: Phase and folder of each skill that agents made.
    made: list[tuple[str, Path]] = field(default_factory=list)
    seeded: tuple[tuple[str, int, int], ...] = ()
    flags: list[str] = field(default_factory=list)
    observed: dict[str, Any] = field(default_factory=dict)
    survivors: list[str] = field(default_factory=list)
    journals: list[Journal] = field(default_factory=list)
    #: How often the agent was run: a test in Python may do so several times.
    runs: int = 0

    def grade_execution(self, execution: Execution) -> Grade:
        """Grade the graded phase over its workspace. Raises ``TrialFault`` for grader faults."""
        from pytest_agentbench.grading.judging.account import account, kin
        from pytest_agentbench.grading.judging.family import family

        grader, root = self.grader()
        docket = grader.docket(self.trial.scenario, execution, root)
        if execution.mutation and self.bench.settings.skill_mutation == "fail":
            docket = dataclasses.replace(docket, spoilt="the agent changed skills")
        self.docket = docket
        decision = grader.judges.decide(docket)
        self.observed |= account(grader.judges, docket, decision, family(self.trial.model_name))
        if kin(self.observed.get("judging", {}).get("families", {})):
            self.flags.append(Flag.JUDGED_BY_KIN)
        self.grade = docket.grade(decision)
        return self.grade

    def _decide(self, execution: Execution) -> tuple[Docket, Decision]:
        """What the grade of a phase is made of that is not the trial's own."""
        grader, root = self.grader()
        docket = grader.docket(self.trial.scenario, execution, root)
        return docket, grader.judges.decide(docket)

    def grader(self) -> tuple[Grader, Path]:
        """What grades, and the workspace that it looks at."""
        if self.workspace is None or self.sandbox is None:
            raise TrialFault(
                Status.HARNESS_ERROR,
                "nothing can be graded without the fixtures workspace and sandbox: a fixture that "
                "stands in for execution must use both",
            )
        return self.bench.grader(self.sandbox), self.workspace.root

    def run(
        self,
        runtime: Runtime,
        sandbox: Sandbox,
        workspace: Workspace,
        prompt: str | None = None,
        skills: tuple[Path, ...] = (),
    ) -> Execution:
        """Run the agent and remember what came of it, also when that is a fault."""
        self.runs += 1
        other = contents(workspace.root) != self.seeded
        if other:
            # Files of a conftest.py or of the test: a further attempt must start from these.
            workspace = dataclasses.replace(workspace, fill=None)
        start = workspace.root.parent / START
        given = tuple(Offer(folder=folder) for folder in skills)
        info = self.bench.runtime(self.trial.runtime)[1]
        task = self.trial.scenario.prompt if prompt is None else prompt

        def ready() -> None:
            if other or self.trial.scenario.setup_script is not None:
                from pytest_agentbench.report.kept import keep

                keep(workspace.root, start)

        def run(phase: Phase, offers: tuple[Offer, ...], workspace: Workspace) -> Execution:
            self.prompt = told(phase, runtime, task)
            return run_phase(
                self.trial,
                phase,
                runtime=runtime,
                sandbox=sandbox,
                root=workspace.root.parent,
                workspace=workspace,
                prompt=task,
                skills=offers,
                info=info,
                gateway=self.bench.gateway if info.endpoint else None,
                pace=self.bench.pace(self.trial),
                ready=ready,
            )

        try:
            if len(self.trial.phases) == 1:
                self.execution = run(self.trial.graded_phase, given, workspace)
                self.phases.append(PhaseFacts.of(self.trial.graded_phase, self.execution))
            else:
                self.execution = self._pipeline(runtime, workspace, run).go(given)
        except RunFault as fault:
            self.execution = fault.execution
            if len(self.trial.phases) == 1:
                self.phases.append(PhaseFacts.of(self.trial.graded_phase, self.execution))
            raise
        finally:
            self.flags += self._flags()
        return self.execution

    def _pipeline(self, runtime: Runtime, workspace: Workspace, run: Run) -> Pipeline:
        # Not at the top: most runs are of one phase.
        from pytest_agentbench.journal import Journal
        from pytest_agentbench.pipeline import Pipeline
        from pytest_agentbench.redaction import Redactor

        folder = self.bench.run_dir / "trials" / self.trial.key if self.bench.run_dir else None
        name = "phases" if self.runs == 1 else f"phases-{self.runs}"
        journal = Journal(folder=folder / name if folder else None, redactor=Redactor.here())
        self.journals.append(journal)
        if self.trial.key in self.bench.past.again:
            journal.clear()
        return Pipeline(
            trial=self.trial,
            runtime=runtime,
            workspace=workspace,
            journal=journal,
            run=run,
            decide=self._decide,
            keep=self._keep_phase,
            findings=self.bench.shelf.findings,
            refuses=self.bench.settings.skill_check == "refuse",
            published=self.bench.settings.scoring == "published",
            facts=self.phases,
            made=self.made,
        )

    def _flags(self) -> list[str]:
        """Of the phases so far, each once."""
        found = []
        if any(phase.mutation for phase in self.phases):
            found.append(Flag.SKILL_CHANGED)
        if any(phase.outputs_written for phase in self.phases):
            found.append(Flag.OUTPUTS_EARLY)
        return [flag for flag in found if flag not in self.flags]

    def _keep_phase(
        self, phase: Phase, execution: Execution, grade: Grade | None, folder: Path
    ) -> None:
        """Write the files of evidence of a phase that is not graded. Raises ``OSError``."""
        from pytest_agentbench.redaction import Redactor
        from pytest_agentbench.report.artefacts import contents as files
        from pytest_agentbench.report.artefacts import write_artefacts

        record = PlannedTrial.of(self.trial, "").end(
            execution.status,
            grade=grade,
            usage=execution.usage,
            started=execution.started,
            observed=self.bench.observed(self.trial.runtime),
        )
        try:
            changed, text = self._changed()
        except (OSError, TrialFault) as error:
            changed, text = (), f"# unknown: {error}\n"
        found = files(record, execution, self.prompt, changed, text)
        write_artefacts(folder, found, Redactor.here())

    def changes(self) -> tuple[tuple[Change, ...], str]:
        """What the agent changed in its workspace, and the difference as text."""
        return self._changed() if self.execution is not None else ((), "")

    def _changed(self) -> tuple[tuple[Change, ...], str]:
        if self.workspace is None or not self.workspace.root.is_dir():
            return (), ""
        root = self.workspace.root
        start = root.parent / START
        if not start.is_dir() and contents(root) == self.seeded:
            return (), ""
        from pytest_agentbench.report.changes import changes, diff, listing

        before = listing(start) if start.is_dir() else self.trial.scenario.inputs
        adapter = self.bench.adapter(self.trial.runtime)
        found = changes(before, root, getattr(adapter, "own_files", ()))
        return found, diff(before, root, found)

    def failure_text(self) -> str:
        """Why the trial did not pass, for people."""
        assert self.grade is not None
        status = self.execution.status if self.execution else Status.COMPLETED
        message = self.execution.message if self.execution else ""
        return failure_text(self.grade, status, message)
