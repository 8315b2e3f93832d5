"""The fixtures of a trial. Each may be overridden in a ``conftest.py``.

``trial → record → workspace, skills, sandbox, runtime → execution``; ``agent`` stands in for
``execution`` in scenarios that are written as Python tests.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_agentbench.attempt import clean_environment
from pytest_agentbench.bench import Bench
from pytest_agentbench.collect import bench_of, trial_of
from pytest_agentbench.execution import Execution
from pytest_agentbench.grade import Grade
from pytest_agentbench.report.failure import failure_text
from pytest_agentbench.runner import RunFault, run_trial
from pytest_agentbench.runtimes.protocol import Runtime
from pytest_agentbench.sandbox import leftovers
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trial import Trial
from pytest_agentbench.workspace import Workspace, materialise, run_teardown

if TYPE_CHECKING:
    from pytest_agentbench.report.changes import Change

DRAFT = pytest.StashKey["Draft"]()
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
    seeded: tuple[tuple[str, int, int], ...] = ()
    flags: list[str] = field(default_factory=list)
    observed: dict[str, Any] = field(default_factory=dict)
    survivors: list[str] = field(default_factory=list)

    def grade_execution(self, execution: Execution) -> Grade:
        """Grade the graded phase over its workspace. Raises ``TrialFault`` for grader faults."""
        if self.workspace is None or self.sandbox is None:
            raise TrialFault(
                Status.HARNESS_ERROR,
                "nothing can be graded without the fixtures workspace and sandbox: a fixture that "
                "stands in for execution must use both",
            )
        grader = self.bench.grader(self.sandbox)
        if grader.judge is not None:
            self.observed["judge"] = str(getattr(grader.judge, "name", ""))
        self.grade = grader.grade(self.trial.scenario, execution, self.workspace.root)
        return self.grade

    def run(
        self,
        runtime: Runtime,
        sandbox: Sandbox,
        workspace: Workspace,
        prompt: str | None = None,
        skills: tuple[Path, ...] = (),
    ) -> Execution:
        """Run the agent and remember what came of it, also when that is a fault."""
        other = contents(workspace.root) != self.seeded
        if other:
            # Files of a conftest.py or of the test: a further attempt must start from these.
            workspace = dataclasses.replace(workspace, fill=None)
        start = workspace.root.parent / START

        def ready() -> None:
            if other or self.trial.scenario.setup_script is not None:
                from pytest_agentbench.report.kept import keep

                keep(workspace.root, start)

        info = self.bench.runtime(self.trial.runtime)[1]
        told = self.trial.scenario.prompt if prompt is None else prompt
        self.prompt = self.trial.graded_phase.prompt_prefix + told
        try:
            self.execution = run_trial(
                self.trial,
                runtime=runtime,
                sandbox=sandbox,
                root=workspace.root.parent,
                workspace=workspace,
                prompt=prompt,
                skills=skills,
                info=info,
                gateway=self.bench.gateway if info.endpoint else None,
                pace=self.bench.pace(self.trial),
                ready=ready,
            )
        except RunFault as fault:
            self.execution = fault.execution
            raise
        return self.execution

    def changes(self) -> tuple[tuple[Change, ...], str]:
        """What the agent changed in its workspace, and the difference as text."""
        if self.execution is None or self.workspace is None or not self.workspace.root.is_dir():
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


@dataclass(frozen=True, slots=True)
class Agent:
    """The agent of a trial, for scenarios that are written as Python tests."""

    trial: Trial
    runtime: Runtime
    sandbox: Sandbox
    workspace: Workspace
    record: Draft
    skills: tuple[Path, ...] = ()

    def run(self, prompt: str) -> Execution:
        """Give the agent ``prompt`` in the trial's workspace; raises ``TrialFault``."""
        return self.record.run(
            self.runtime, self.sandbox, self.workspace, prompt, skills=self.skills
        )


def contents(root: Path) -> tuple[tuple[str, int, int], ...]:
    """Path, size and time of change (ns) of everything below ``root``, sorted."""
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 (a Path costs ten times as much)
            status = os.lstat(path)
            found.append((path, status.st_size, status.st_mtime_ns))
    return tuple(sorted(found))


@pytest.fixture
def trial(request: pytest.FixtureRequest) -> Trial:
    """What is run: scenario, runtime, model, mode, index, phases."""
    found = trial_of(request.node)
    if found is None:
        pytest.fail(
            "no runtime was asked for; give --runtime=NAME (built in: "
            f"{', '.join(bench_of(request.config).adapters)})",
            pytrace=False,
        )
    return found


@pytest.fixture
def record(request: pytest.FixtureRequest, trial: Trial) -> Draft:
    """The record in the making; made afresh, since a rerun keeps the item and its stash."""
    draft = Draft(trial=trial, bench=bench_of(request.config))
    request.node.stash[DRAFT] = draft
    return draft


@pytest.fixture
def workspace(trial: Trial, record: Draft) -> Iterator[Workspace]:
    """A fresh workspace with the scenario's inputs, removed with all else of the trial's."""
    base = leftovers.folder()
    fill = functools.partial(materialise, trial.scenario.inputs)
    record.workspace = Workspace(base / "ws", fill)
    try:
        record.workspace.reset()
        record.seeded = contents(record.workspace.root)
        yield record.workspace
    finally:
        try:
            leftovers.remove(base)
        except OSError as error:
            record.survivors.append(f"cannot remove the workspace: {error.strerror}")


@pytest.fixture
def skills(trial: Trial) -> tuple[Path, ...]:
    """Skill folders that the agent is given: none in mode ``baseline``."""
    given = trial.graded_phase.skills
    if given is not None and not given:
        pytest.skip(f"the scenario has no skills, which mode {trial.mode} gives to the agent")
    return given or ()


@pytest.fixture
def sandbox(request: pytest.FixtureRequest, record: Draft) -> Iterator[Sandbox]:
    """Where the agent and the commands of checks run."""
    record.sandbox = bench_of(request.config).make_sandbox()
    yield record.sandbox
    record.survivors.extend(record.sandbox.close())


@pytest.fixture
def runtime(request: pytest.FixtureRequest, trial: Trial) -> Runtime:
    """The adapter of the trial's runtime, found to be installed and able."""
    bench = bench_of(request.config)
    adapter, info = bench.runtime(trial.runtime)
    lacking = [name for name in trial.scenario.requires if name not in info.capabilities]
    if lacking:
        pytest.skip(f"{trial.runtime.name} lacks {', '.join(lacking)}, which the scenario requires")
    return adapter


@pytest.fixture
def execution(
    trial: Trial,
    workspace: Workspace,
    skills: tuple[Path, ...],
    sandbox: Sandbox,
    runtime: Runtime,
    record: Draft,
) -> Iterator[Execution]:
    """The agent's run over all phases; raises ``TrialFault`` for what is not the agent's doing."""
    try:
        yield record.run(runtime, sandbox, workspace, skills=skills)
    finally:
        base = workspace.root.parent
        try:
            run_teardown(trial.scenario, workspace.root, sandbox, clean_environment(base, base))
        except TrialFault as fault:
            record.survivors.append(str(fault))


@pytest.fixture
def agent(
    trial: Trial,
    workspace: Workspace,
    skills: tuple[Path, ...],
    sandbox: Sandbox,
    runtime: Runtime,
    record: Draft,
) -> Agent:
    """The agent, to be run by the test itself: ``agent.run("Write CHANGES.md …")``."""
    return Agent(trial, runtime, sandbox, workspace, record, skills)
