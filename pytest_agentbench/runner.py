"""Runs a phase of a trial: tries again after a fault."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.attempt import attempt, environment
from pytest_agentbench.execution import Attempt, Execution
from pytest_agentbench.flag import Flag
from pytest_agentbench.prefixes import EVIDENCE
from pytest_agentbench.runtimes.protocol import Runtime, RuntimeInfo, RuntimeUnavailable
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.scenario.model import Step
from pytest_agentbench.skill import Offer
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trial import AgentRun, Phase, Trial
from pytest_agentbench.workspace import Workspace, clear, run_setup

if TYPE_CHECKING:
    from pytest_agentbench.gateway.client import Gateway
    from pytest_agentbench.pace import Pace
    from pytest_agentbench.skills.loan import Loan

#: Bytes that must be free before a run.
FREE_SPACE = 200 << 20
#: Seconds before the second attempt, doubled for each further one.
BACK_OFF = 0.5


class RunFault(TrialFault):
    """A run that cannot be graded, with the last ``execution`` and its earlier attempts."""

    def __init__(self, execution: Execution) -> None:
        super().__init__(execution.status, execution.message)
        self.execution = execution


def run_phase(
    trial: Trial,
    phase: Phase | None = None,
    *,
    runtime: Runtime,
    sandbox: Sandbox,
    root: Path,
    workspace: Workspace,
    prompt: str | None = None,
    steps: tuple[Step, ...] | None = None,
    skills: tuple[Offer, ...] = (),
    info: RuntimeInfo | None = None,
    gateway: Gateway | None = None,
    pace: Pace | None = None,
    ready: Callable[[], object] | None = None,
    sleep: Callable[[float], object] = time.sleep,
    free_space: int = FREE_SPACE,
) -> Execution:
    """Run ``phase`` in ``workspace``, which is filled already, and return what it gave.

    The phase is the graded one if none is given.

    ``root`` is a private folder that the caller removes; each attempt gets HOME, state and
    TMPDIR below it. ``prompt`` and ``steps`` stand in for the scenario's. Statuses that the
    table says are retried are, up to ``trial.max_attempts``, each from the workspace as it was
    at the start. ``ready`` is called when all is there but the agent. Raises ``RunFault`` when the
    last status is not one that is graded.
    """
    phase = phase or trial.graded_phase
    if steps is None:
        # Who only writes a skill is not to do the task.
        steps = trial.scenario.solution if phase.role == "execute" else ()
    prompt = told(phase, runtime, trial.scenario.prompt if prompt is None else prompt)
    folder = skills_folder(phase, runtime)
    restore = _keeper(workspace, root) if trial.max_attempts > 1 else workspace.reset
    real = os.path.realpath(workspace.root)
    attempts: list[Attempt] = []
    while True:
        number = len(attempts) + 1
        if attempts:
            sleep(max(BACK_OFF * 2 ** (number - 2), pace.left() if pace else 0.0))
        started, clock = time.time(), time.monotonic()
        loan: Loan | None = None
        try:
            if attempts:
                restore()
            info = runtime.probe() if info is None else info
            _require(free_space, root)
            if skills or phase.guarded:
                loan = _lend(skills, runtime, workspace.root, folder)
            folders = info.process or trial.scenario.setup_script is not None
            run = _prepare(trial, phase, root, workspace, prompt, steps, number, folders)
            run = dataclasses.replace(run, skills=loan.notices if loan else ())
            run_setup(trial.scenario, workspace.root, sandbox, environment(run))
            if ready is not None:
                ready()
            if loan is not None and phase.guarded:
                loan.begin()
            execution = attempt(run, runtime, info, sandbox, gateway)
            execution = loan.used(execution) if loan is not None else execution
        except TrialFault as fault:
            execution = Execution(status=fault.status, message=str(fault))
        except RuntimeUnavailable as error:
            execution = Execution(
                status=Status.RUNTIME_MISSING, message=f"runtime {trial.runtime.name}: {error}"
            )
        execution = dataclasses.replace(
            execution,
            started=started,
            seconds=time.monotonic() - clock,
            attempts=tuple(attempts),
        )
        if pace is not None:
            pace.note(execution.status, clock)
        if not workspace.settle(real):
            flags = (*execution.flags, Flag.WORKSPACE_REPLACED)
            execution = dataclasses.replace(execution, flags=flags)
        execution = loan.returned(execution) if loan is not None else execution
        if execution.status.policy.graded:
            return execution
        if not execution.status.policy.retried or number >= trial.max_attempts:
            raise RunFault(execution)
        attempts.append(
            Attempt(status=execution.status, message=execution.message, seconds=execution.seconds)
        )


def told(phase: Phase, runtime: Runtime, task: str) -> str:
    """The whole prompt of a phase: its prefix, filled in, and the task."""
    prefix = phase.prompt_prefix.replace("{skills}", skills_folder(phase, runtime))
    return prefix.replace("{evidence}", EVIDENCE) + task


def skills_folder(phase: Phase, runtime: Runtime) -> str:
    """The folder of skills in the workspace; "" for a runtime that would not know of any."""
    own: str = getattr(runtime, "skills_folder", "")
    # A prompt that names the folder makes up for a runtime that has none.
    return own or ("skills" if "{skills}" in phase.prompt_prefix else "")


def _lend(skills: tuple[Offer, ...], runtime: Runtime, workspace: Path, folder: str) -> Loan:
    if skills and not folder:
        raise TrialFault(
            Status.UNSUPPORTED, f"runtime {runtime.name} has no folder of skills in a workspace"
        )
    # Not at the top: it reads YAML, which neither the controller nor most runs need.
    from pytest_agentbench.skills.loan import Loan

    return Loan.of(skills, workspace, folder)


def _require(space: int, root: Path) -> None:
    free = shutil.disk_usage(root).free
    if free < space:
        raise TrialFault(
            Status.NO_SPACE,
            f"{free >> 20} MiB are free for the trial's files; a run needs {space >> 20} MiB",
        )


def _prepare(
    trial: Trial,
    phase: Phase,
    root: Path,
    workspace: Workspace,
    prompt: str,
    steps: tuple[Step, ...],
    number: int,
    folders: bool,
) -> AgentRun:
    """The run of an attempt, with folders of its own unless nothing is started in it."""
    name = f"{phase.name}-{number}"
    while (folder := root / name).exists():
        name += "x"
    if folders:
        for path in (folder, folder / "home", folder / "state", folder / "tmp"):
            path.mkdir(mode=0o700)
    return AgentRun(
        id=f"{trial.key[:16]}-{name}",
        trial=trial,
        phase=phase,
        prompt=prompt,
        workspace=workspace.root,
        home=folder / "home",
        state=folder / "state",
        seconds=phase.seconds,
        steps=steps,
    )


def _keeper(workspace: Workspace, root: Path) -> Callable[[], None]:
    """What brings the workspace back to what it is now, before an agent touches it."""
    if workspace.fill is not None:
        return workspace.reset
    copy = root / "before"
    clear(copy)
    shutil.copytree(workspace.root, copy, symlinks=True)

    def restore() -> None:
        clear(workspace.root)
        shutil.copytree(copy, workspace.root, symlinks=True)

    return restore
