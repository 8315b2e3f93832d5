"""Runs tasks on one runtime, through the runner, the gateway and the sandbox of every benchmark."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench import slots
from pytest_agentbench.conformance import tasks
from pytest_agentbench.conformance.heard import Heard
from pytest_agentbench.conformance.watched import Watched
from pytest_agentbench.execution import Command, Execution
from pytest_agentbench.files import read_regular
from pytest_agentbench.gateway.client import Gateway
from pytest_agentbench.grading.grader import Grader
from pytest_agentbench.runner import RunFault, run_phase
from pytest_agentbench.runtimes.protocol import Runtime, RuntimeInfo
from pytest_agentbench.sandbox import leftovers
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.status import TrialFault
from pytest_agentbench.trial import AgentRun, ModelProfile, Phase, RuntimeProfile, Trial
from pytest_agentbench.workspace import Workspace, materialise

#: The model that runs are told to ask for.
MODEL = "conformance-model"
#: Seconds that the first run may take, from which the others' limits are made.
FIRST = 300.0
_FILE_LIMIT = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What came of a run.

    ``run`` and ``command`` are what the adapter was given and gave, ``reported`` what it made of
    the end: None where it did not come to that. ``files`` are those of the workspace afterwards;
    ``holding`` the run's own files outside of it that have the needle in their name or content.
    ``score`` is None for a run that is not graded.
    """

    execution: Execution
    heard: Heard
    sandbox: str
    run: AgentRun | None = None
    command: Command | None = None
    reported: Execution | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    holding: tuple[str, ...] = ()
    score: float | None = None
    failed: tuple[str, ...] = ()
    survivors: tuple[str, ...] = ()

    @property
    def ending(self) -> str:
        """Status and message, for people."""
        execution = self.execution
        return f"{execution.status}: {execution.message}".removesuffix(": ")


@dataclass(frozen=True, kw_only=True)  # no slots: the first run is kept
class Rig:
    """``factor`` stretches every time limit."""

    profile: RuntimeProfile
    runtime: Runtime
    info: RuntimeInfo
    gateway: Gateway
    make_sandbox: Callable[[], Sandbox]
    make_grader: Callable[[Sandbox], Grader]
    cap: slots.Cap | None = None
    factor: float = 1.0

    @functools.cached_property
    def first(self) -> Seen:
        """The run that most clauses look at."""
        return self._run(tasks.WORK, FIRST * self.factor)

    @property
    def limit(self) -> float:
        """Seconds for a run that is to end by itself, on a machine as busy as it was at first."""
        return (30.0 + 10 * self._unit) * self.factor

    @property
    def short(self) -> float:
        """Seconds for a run that is to be ended by its limit: most of them after its beginning."""
        return (1.0 + 4 * self._unit) * self.factor

    def run(
        self,
        task: Scenario,
        *,
        seconds: float | None = None,
        model: Mapping[str, Any] | None = None,
        change: Callable[[Runtime], Runtime] | None = None,
        needle: str = "",
    ) -> Seen:
        """Run ``task``; ``model`` are options of the scripted model.

        ``change`` stands between runner and adapter. ``needle`` is looked for in the run's files.
        """
        return self._run(task, seconds or self.limit, model or {}, change, needle)

    @property
    def _unit(self) -> float:
        return max(0.5, self.first.execution.completed.seconds)

    def _run(
        self,
        task: Scenario,
        seconds: float,
        model: Mapping[str, Any] | None = None,
        change: Callable[[Runtime], Runtime] | None = None,
        needle: str = "",
    ) -> Seen:
        watched = Watched(change(self.runtime) if change else self.runtime)
        with leftovers.temporary("fit-") as folder, self._place():
            base = folder / "run"
            base.mkdir(mode=0o700)
            asked = folder / "requests.jsonl"
            options = {"witness": str(asked), **(model or {})}
            workspace = Workspace(base / "ws", functools.partial(materialise, task.inputs))
            workspace.reset()
            sandbox = self.make_sandbox()
            score: float | None = None
            failed: tuple[str, ...] = ()
            try:
                execution = run_phase(
                    self._trial(task, seconds, options),
                    runtime=watched,
                    sandbox=sandbox,
                    root=base,
                    workspace=workspace,
                    info=self.info,
                    gateway=self.gateway,
                )
                grade = self.make_grader(sandbox).grade(task, execution, workspace.root)
                score = grade.score
                failed = tuple(f"{check.id}: {check.reason}" for check in grade.failed_checks)
            except RunFault as fault:
                execution = fault.execution
            except TrialFault as fault:
                execution = Execution(status=fault.status, message=str(fault))
            return Seen(
                execution=execution,
                heard=Heard(_rows(asked)),
                sandbox=sandbox.name,
                run=watched.run,
                command=watched.asked,
                reported=watched.reported,
                files=dict(_files(workspace.root)),
                holding=tuple(_holding(base, workspace.root, needle)) if needle else (),
                score=score,
                failed=failed,
                survivors=sandbox.close(),
            )

    def _trial(self, task: Scenario, seconds: float, options: Mapping[str, Any]) -> Trial:
        return Trial(
            scenario=task,
            runtime=self.profile,
            model=ModelProfile(name=MODEL, backend="scripted", options=options),
            mode="baseline",
            index=1,
            phases=(Phase(name="baseline", seconds=seconds),),
            max_attempts=1,
        )

    @contextlib.contextmanager
    def _place(self) -> Iterator[None]:
        """Wait for one of the runtime's places on this machine, where there is a cap."""
        if self.cap is None:
            yield
            return
        slots.prepare()
        with slots.place(self.cap):
            yield


def _rows(path: Path) -> tuple[Mapping[str, Any], ...]:
    try:
        lines = path.read_text("ascii").splitlines()
    except FileNotFoundError:
        return ()
    return tuple(json.loads(line) for line in lines)


def _files(root: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(root.rglob("*")):
        with contextlib.suppress(OSError):
            yield path.relative_to(root).as_posix(), read_regular(path, _FILE_LIMIT)


def _holding(base: Path, workspace: Path, needle: str) -> Iterator[str]:
    for path in sorted(base.rglob("*")):
        if path.is_relative_to(workspace):
            continue
        name = path.relative_to(base).as_posix()
        if needle in path.name:
            yield name
            continue
        with contextlib.suppress(OSError):
            if needle.encode() in read_regular(path, _FILE_LIMIT):
                yield name
