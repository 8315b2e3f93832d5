"""Runs a phase of a trial: spawns, limits, classifies, and tries again after a fault."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_agentbench.execution import (
    Attempt,
    Completed,
    Execution,
    Limits,
    TimeLimit,
    Usage,
    View,
)
from pytest_agentbench.flag import Flag
from pytest_agentbench.outcome import classify
from pytest_agentbench.runtimes.protocol import Runtime, RuntimeInfo, RuntimeUnavailable
from pytest_agentbench.sandbox.protocol import GATEWAY_PORT, Sandbox, search_path
from pytest_agentbench.scenario.model import Step
from pytest_agentbench.skills import place
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trial import AgentRun, Phase, Trial
from pytest_agentbench.workspace import Workspace, clear, run_setup

if TYPE_CHECKING:
    from pytest_agentbench.gateway.client import Gateway, OpenLine
    from pytest_agentbench.pace import Pace

#: Bytes that must be free before a run.
FREE_SPACE = 200 << 20
#: Seconds before the second attempt, doubled for each further one.
BACK_OFF = 0.5


class RunFault(TrialFault):
    """A run that cannot be graded, with the last ``execution`` and its earlier attempts."""

    def __init__(self, execution: Execution) -> None:
        super().__init__(execution.status, execution.message)
        self.execution = execution


def run_trial(
    trial: Trial,
    *,
    runtime: Runtime,
    sandbox: Sandbox,
    root: Path,
    workspace: Workspace,
    prompt: str | None = None,
    steps: tuple[Step, ...] | None = None,
    skills: tuple[Path, ...] = (),
    info: RuntimeInfo | None = None,
    gateway: Gateway | None = None,
    pace: Pace | None = None,
    sleep: Callable[[float], object] = time.sleep,
    free_space: int = FREE_SPACE,
) -> Execution:
    """Run the graded phase in ``workspace``, which is filled already, and return what it gave.

    ``root`` is a private folder that the caller removes; each attempt gets HOME, state and
    TMPDIR below it. ``prompt`` and ``steps`` stand in for the scenario's. Statuses that the
    table says are retried are, up to ``trial.max_attempts``, each from the workspace as it was
    at the start. Raises ``RunFault`` when the last status is not one that is graded.
    """
    phase = trial.graded_phase
    steps = trial.scenario.solution if steps is None else steps
    prompt = phase.prompt_prefix + (trial.scenario.prompt if prompt is None else prompt)
    restore = _keeper(workspace, root) if trial.max_attempts > 1 else workspace.reset
    place = os.path.realpath(workspace.root)
    attempts: list[Attempt] = []
    while True:
        number = len(attempts) + 1
        if attempts:
            sleep(max(BACK_OFF * 2 ** (number - 2), pace.left() if pace else 0.0))
        started, clock = time.time(), time.monotonic()
        try:
            if attempts:
                restore()
            info = runtime.probe() if info is None else info
            _require(free_space, root)
            placed = _place(skills, runtime, workspace.root)
            run = _prepare(trial, phase, root, workspace, prompt, steps, number)
            run_setup(trial.scenario, workspace.root, sandbox, environment(run))
            execution = _attempt(run, runtime, info, sandbox, gateway)
            execution = dataclasses.replace(execution, observed={**execution.observed, **placed})
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
        if not workspace.settle(place):
            flags = (*execution.flags, Flag.WORKSPACE_REPLACED)
            execution = dataclasses.replace(execution, flags=flags)
        if execution.status.policy.graded:
            return execution
        if not execution.status.policy.retried or number >= trial.max_attempts:
            raise RunFault(execution)
        attempts.append(
            Attempt(status=execution.status, message=execution.message, seconds=execution.seconds)
        )


def environment(run: AgentRun) -> dict[str, str]:
    """The environment of an agent: nothing of the caller's but PATH."""
    return clean_environment(run.home, run.home.parent / "tmp") | {"AGENTBENCH_TRIAL": run.id}


def clean_environment(home: Path, temporary: Path) -> dict[str, str]:
    """The least that a program needs, with a HOME and a TMPDIR of its own."""
    return {
        "PATH": search_path(),
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "LANG": "C.UTF-8",
    }


def _attempt(
    run: AgentRun,
    runtime: Runtime,
    info: RuntimeInfo,
    sandbox: Sandbox,
    gateway: Gateway | None,
) -> Execution:
    """One try, from ``prepare`` to the status."""
    with contextlib.ExitStack() as stack:
        line: OpenLine | None = None
        if info.endpoint:
            line = stack.enter_context(_line(run, sandbox, gateway))
            run = dataclasses.replace(run, model=line.endpoint)
        with _adapter(run, "prepare"):
            runtime.prepare(run)
        with _adapter(run, "command"):
            command = runtime.command(run)
        done = Completed()
        if command is not None:
            _placed(command, run)
            env = {**environment(run), **command.env}
            view = _view(run, command.view)
            done = sandbox.run(
                dataclasses.replace(command, env=env, timeout=run.seconds, view=view)
            )
        with _adapter(run, "collect"):
            reported = runtime.collect(run, done)
        seen = line.report() if line else None
    status, message = classify(done, reported, info, seen)
    flags = reported.flags
    if done.survivors:
        flags += (Flag.LEFT_PROCESSES,)
    if done.stdout_bytes > len(done.stdout) or done.stderr_bytes > len(done.stderr):
        flags += (Flag.OUTPUT_CUT,)
    if done.exceeded:
        flags += (Flag.LIMITS_REACHED,)
    observed = dict(reported.observed)
    if seen:
        observed |= {"model_calls": seen.observed, "usage_reported": told(reported.usage)}
        flags += (Flag.USAGE_DIFFERS,) * seen.differs(reported.usage)
    limit = TimeLimit(layer="phase", limit=run.seconds, elapsed=done.seconds)
    return dataclasses.replace(
        reported,
        status=status,
        message=message,
        usage=seen.usage if seen else reported.usage,
        completed=done,
        enforced=done.enforced,
        time_limit=limit if done.timed_out else None,
        flags=flags,
        observed=observed,
        model_calls=tuple(call.to_json() for call in seen.calls) if seen else (),
    )


def _placed(command: Command, run: AgentRun) -> None:
    """An agent that is sent to another place than its workspace cannot do its task there."""
    place, wanted = (Path(os.path.realpath(path)) for path in (command.cwd, run.workspace))
    if not place.is_relative_to(wanted):
        raise TrialFault(
            Status.HARNESS_ERROR,
            f"adapter {run.trial.runtime.adapter!r} starts its program in {place}, which is not "
            f"the run's workspace {wanted}: see `Command.cwd` in its `command`",
        )


def told(usage: Usage) -> dict[str, int | float]:
    """The figures that are known."""
    return {name: value for name, value in dataclasses.asdict(usage).items() if value is not None}


def _view(run: AgentRun, asked: View) -> View:
    """What the agent sees: its own folders, beside what its adapter asked for.

    A runtime whose model is behind the gateway gets no other network unless the scenario
    requires one.
    """
    scenario = run.trial.scenario
    network = asked.network if run.model is None else "gateway"
    if "network" in scenario.requires:
        network = "open"
    return dataclasses.replace(
        asked,
        writable=(run.workspace, run.home, run.home.parent / "tmp", *asked.writable),
        network=network,
        gateway=run.model.socket.parent if run.model else None,
        limits=Limits(**scenario.sandbox),
    )


def _place(skills: tuple[Path, ...], runtime: Runtime, workspace: Path) -> dict[str, Any]:
    """Give the agent its skills; what was given, for the record."""
    if not skills:
        return {}
    folder = getattr(runtime, "skills_folder", "")
    if not folder:
        raise TrialFault(
            Status.UNSUPPORTED, f"runtime {runtime.name} has no folder of skills in a workspace"
        )
    return {"skills": list(place(skills, workspace, folder))}


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
) -> AgentRun:
    """The run of an attempt, with folders of its own."""
    name = f"{phase.name}-{number}"
    while (folder := root / name).exists():
        name += "x"
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


@contextlib.contextmanager
def _line(run: AgentRun, sandbox: Sandbox, gateway: Gateway | None) -> Iterator[OpenLine]:
    if run.trial.model is None:
        raise TrialFault(
            Status.HARNESS_ERROR,
            f"runtime {run.trial.runtime.name} needs a model: give --model=NAME, or model = "
            f'"NAME" in [tool.agentbench.runtimes.{run.trial.runtime.name}]',
        )
    if gateway is None:
        raise TrialFault(Status.HARNESS_ERROR, "there is no gateway to reach a model through")
    forwarded = sandbox.forwards and "network" not in run.trial.scenario.requires
    url = f"http://127.0.0.1:{GATEWAY_PORT}" if forwarded else ""
    with gateway.open_line(run.trial.model, run.trial, run.steps, url=url) as line:
        yield line


@contextlib.contextmanager
def _adapter(run: AgentRun, method: str) -> Iterator[None]:
    """An adapter's bug is the harness's fault, never the agent's."""
    try:
        yield
    except (TrialFault, RuntimeUnavailable):
        raise
    except Exception as error:
        raise TrialFault(
            Status.HARNESS_ERROR,
            f"adapter {run.trial.runtime.adapter!r} raised {type(error).__name__} in {method}: "
            f"{error}",
        ) from error
