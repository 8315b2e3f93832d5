"""The runtime that plays the scenario's reference solution, and must score everything."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.runtimes import player
from pytest_agentbench.runtimes.protocol import RuntimeInfo, own_version, refuse_options
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trace.canonical import read_events
from pytest_agentbench.trace.events import prompted
from pytest_agentbench.trial import AgentRun, RuntimeProfile


class Oracle:
    """Runs ``AgentRun.steps`` in the sandbox, where an agent's own commands would run."""

    name = "oracle"

    def __init__(self, profile: RuntimeProfile) -> None:
        refuse_options(profile)
        self.version = own_version(profile)

    def probe(self) -> RuntimeInfo:
        return RuntimeInfo(version=self.version, calls_model=False)

    def prepare(self, run: AgentRun) -> None:
        if not run.steps:
            raise TrialFault(
                Status.UNSUPPORTED,
                f"oracle needs a solution: {run.trial.scenario.path.name} has no 'solution'",
            )
        steps = [dataclasses.asdict(step) for step in run.steps]
        (run.state / "steps.json").write_text(json.dumps(steps))

    def command(self, run: AgentRun) -> Command:
        script = str(Path(player.__file__).resolve())
        files = (str(run.state / "steps.json"), str(run.state / "events.jsonl"))
        return Command(
            argv=(sys.executable, "-I", "-S", script, *files),
            cwd=run.workspace,
            env={},
            view=View(writable=(run.state,), readable=player.SCRIPTS),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        reading = read_events(run.state / "events.jsonl")
        said = done.stderr.decode("utf-8", "replace").strip()
        status = {0: Status.COMPLETED, player.UNSUPPORTED: Status.UNSUPPORTED}.get(
            done.exit_code if done.exit_code is not None else -1, Status.AGENT_ERROR
        )
        return Execution(
            status=status,
            message="" if status is Status.COMPLETED else said[-2000:],
            trace=prompted(run.prompt, reading.events),
            flags=reading.flags,
        )
