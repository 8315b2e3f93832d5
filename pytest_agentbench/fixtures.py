"""The fixtures of a trial. Each may be overridden in a ``conftest.py``.

``trial → record → workspace, skills, sandbox, runtime → execution``; ``agent`` stands in for
``execution`` in scenarios that are written as Python tests.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_agentbench.attempt import clean_environment
from pytest_agentbench.collect import bench_of, trial_of
from pytest_agentbench.draft import Draft
from pytest_agentbench.execution import Execution
from pytest_agentbench.runtimes.protocol import Runtime
from pytest_agentbench.sandbox import leftovers
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.status import TrialFault
from pytest_agentbench.trial import Trial
from pytest_agentbench.workspace import Workspace, contents, materialise, run_teardown

if TYPE_CHECKING:
    from pytest_agentbench.asking import Asking
    from pytest_agentbench.grading.performed import Performed

DRAFT = pytest.StashKey[Draft]()


@dataclass(frozen=True, slots=True, repr=False)
class Agent:
    """The agent of a trial, for scenarios that are written as Python tests."""

    trial: Trial
    runtime: Runtime
    sandbox: Sandbox
    workspace: Workspace
    record: Draft
    skills: tuple[Path, ...] = ()

    def __repr__(self) -> str:  # pytest shows it in the message of an assertion
        return f"<agent {self.trial.runtime.name} of {self.trial.scenario.id}>"

    def run(self, prompt: str) -> Performed:
        """Give the agent ``prompt`` in the trial's workspace; raises ``TrialFault``."""
        from pytest_agentbench.grading.performed import Performed  # of Python tests alone

        done = self.record.run(
            self.runtime, self.sandbox, self.workspace, prompt, skills=self.skills
        )
        return Performed.of(done, self.workspace.root)


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
def skills(request: pytest.FixtureRequest, trial: Trial, record: Draft) -> tuple[Path, ...]:
    """Skill folders that the agent of the graded phase is given: none in mode ``baseline``.

    What agents of earlier phases make comes on top.
    """
    given = trial.graded_phase.skills
    if given is not None and not given:
        pytest.skip(bench_of(request.config).shelf.lack(trial))
    record.observed |= bench_of(request.config).shelf.source(trial)
    return tuple(offer.folder for offer in given or ())


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


@pytest.fixture
def rubric(record: Draft) -> Asking:
    """The judges, to be asked by the test itself: ``rubric.expect("The report names …")``."""
    from pytest_agentbench.asking import Asking  # of tests that ask

    return Asking(record)
