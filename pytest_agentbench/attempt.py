"""One try of an agent run: from ``prepare`` of its adapter to the status of what it gave."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.execution import (
    Command,
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
from pytest_agentbench.runtimes.reported import hold
from pytest_agentbench.sandbox.protocol import GATEWAY_PORT, Sandbox, search_path
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trial import AgentRun

if TYPE_CHECKING:
    from pytest_agentbench.gateway.client import Gateway, OpenLine


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


def attempt(
    run: AgentRun,
    runtime: Runtime,
    info: RuntimeInfo,
    sandbox: Sandbox,
    gateway: Gateway | None,
) -> Execution:
    """Run the agent once. Raises ``TrialFault`` and ``RuntimeUnavailable``."""
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
            _require_workspace(command, run)
            env = {**environment(run), **command.env}
            view = _view(run, command.view)
            done = sandbox.run(
                dataclasses.replace(command, env=env, timeout=run.seconds, view=view)
            )
        with _adapter(run, "collect"):
            reported = hold(runtime.collect(run, done))
        reported = dataclasses.replace(reported, usage=reported.usage.believable)
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
        usage=seen.usage.believable if seen else reported.usage,
        completed=done,
        enforced=done.enforced,
        time_limit=limit if done.timed_out else None,
        flags=flags,
        observed=observed,
        model_calls=tuple(call.to_json() for call in seen.calls) if seen else (),
    )


def _require_workspace(command: Command, run: AgentRun) -> None:
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
    watch = None
    if run.skills:
        from pytest_agentbench.gateway.watch import Watch

        watch = Watch(skills=run.skills, prompt=run.prompt)
    with gateway.open_line(run.trial.model, run.trial, run.steps, url=url, watch=watch) as line:
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
