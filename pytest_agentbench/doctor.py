"""Whether a runtime can be used here: what was found, what is missing, and a trial to prove it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench import modes
from pytest_agentbench.execution import Completed, Execution, Usage
from pytest_agentbench.gateway.client import Gateway
from pytest_agentbench.grading.client import CheckerServer
from pytest_agentbench.grading.grader import Grader
from pytest_agentbench.profiles import model_profile
from pytest_agentbench.runner import RunFault, run_phase
from pytest_agentbench.runtimes.locate import Package, node, version_of
from pytest_agentbench.runtimes.protocol import Runtime, RuntimeInfo, RuntimeUnavailable
from pytest_agentbench.runtimes.registry import Adapter
from pytest_agentbench.sandbox import leftovers
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.scenario.load import load
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.status import TrialFault
from pytest_agentbench.tool_table import Table
from pytest_agentbench.trial import AgentRun, ProfileError, RuntimeProfile, Trial
from pytest_agentbench.workspace import Workspace, materialise

SCENARIO = Path(__file__).with_name("doctor.yaml")
NOT_TRIED = "it reaches no model through the gateway, so no script can stand in for one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of a scripted trial.

    ``tools`` maps the runtime's own names of the tools that were called to the canonical ones.
    ``usage`` is the gateway's count, ``said`` the runtime's own.
    """

    status: str
    solved: bool
    message: str = ""
    seconds: float = 0.0
    calls: int = 0
    results: int = 0
    tools: Mapping[str, str] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    said: Usage = field(default_factory=Usage)
    failed: tuple[str, ...] = ()

    @property
    def same_usage(self) -> bool | None:
        """Whether runtime and gateway counted the same; None where one of them does not say."""
        ours, theirs = self.usage.total_tokens, self.said.total_tokens
        return None if ours is None or theirs is None else ours == theirs


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Something that a runtime runs on: what it asks for, and what is here."""

    what: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A runtime, looked at. ``problem`` says why it cannot be used; empty if it can."""

    name: str
    adapter: str
    problem: str = ""
    program: str = ""
    version: str = ""
    tested: str = ""
    digest: str = ""
    install: str = ""
    needs: tuple[Need, ...] = ()
    capabilities: tuple[str, ...] = ()
    max_concurrent: int | None = None
    tried: Tried | None = None
    not_tried: str = ""

    @property
    def usable(self) -> bool:
        return not self.problem and (self.tried is None or self.tried.solved)


@dataclass(frozen=True, slots=True)
class Doctor:
    """Looks at runtimes; with a ``trials``, has each one that it can do a scripted trial."""

    trials: Trials | None = None

    def examine(self, profile: RuntimeProfile, make: Adapter) -> Finding:
        """What there is of the runtime of ``profile``. Raises nothing that the runtime can cause."""
        finding = Finding(name=profile.name, adapter=profile.adapter)
        try:
            runtime = make(profile)
        except ProfileError as error:
            return dataclasses.replace(finding, problem=str(error))
        package: Package | None = getattr(runtime, "package", None)
        if package is not None:
            install = package.install(profile.version)
            finding = dataclasses.replace(finding, tested=package.tested, install=install)
        program = _program(runtime)
        cap = profile.max_concurrent or getattr(runtime, "max_concurrent", None)
        finding = dataclasses.replace(
            finding,
            program=str(program or ""),
            needs=tuple(_needs(package, program)) if package else (),
            max_concurrent=cap,
        )
        try:
            info = runtime.probe()
        except RuntimeUnavailable as error:
            return dataclasses.replace(finding, problem=str(error))
        except Exception as error:  # noqa: BLE001 (an adapter of anybody's)
            problem = f"its adapter raised {type(error).__name__}: {error}"
            return dataclasses.replace(finding, problem=problem)
        finding = dataclasses.replace(
            finding, version=info.version, digest=info.digest, capabilities=info.capabilities
        )
        if self.trials is None:
            return finding
        if not info.endpoint:
            return dataclasses.replace(finding, not_tried=NOT_TRIED)
        return dataclasses.replace(finding, tried=self.trials.run(profile, runtime, info))


@dataclass(frozen=True, slots=True)
class Trials:
    """Runs one scripted trial of a small scenario through the real runner and grader."""

    sandbox: Sandbox
    server: CheckerServer
    gateway: Gateway

    def run(self, profile: RuntimeProfile, runtime: Runtime, info: RuntimeInfo) -> Tried:
        scenario = load(SCENARIO)
        watched = Watched(runtime)
        failed: tuple[str, ...] = ()
        solved = False
        with leftovers.temporary("doctor-") as base:
            workspace = Workspace(base / "ws", functools.partial(materialise, scenario.inputs))
            workspace.reset()
            try:
                execution = run_phase(
                    _trial(scenario, profile),
                    runtime=watched,
                    sandbox=self.sandbox,
                    root=base,
                    workspace=workspace,
                    info=info,
                    gateway=self.gateway,
                )
                grader = Grader(self.server, self.sandbox)
                grade = grader.grade(scenario, execution, workspace.root)
                solved = grade.passed and grade.strict
                failed = tuple(f"{check.id}: {check.reason}" for check in grade.failed_checks)
            except RunFault as fault:
                execution = fault.execution
            except TrialFault as fault:
                execution = Execution(status=fault.status, message=str(fault))
        return Tried(
            status=execution.status.value,
            solved=solved,
            message=execution.message,
            seconds=execution.seconds,
            calls=len(execution.trace.calls),
            results=len(execution.trace.results),
            tools={e.native_name or e.tool: e.tool for e in execution.trace.calls},
            usage=execution.usage,
            said=watched.said,
            failed=failed,
        )


class Watched:
    """A runtime that remembers what its adapter reported, over which the gateway's word goes."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.said = Usage()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        execution = self._runtime.collect(run, done)
        self.said = execution.usage
        return execution


def _trial(scenario: Scenario, profile: RuntimeProfile) -> Trial:
    return Trial(
        scenario=scenario,
        runtime=profile,
        model=model_profile("scripted", Table()),
        mode="baseline",
        index=1,
        phases=modes.phases(modes.MODES["baseline"], scenario),
        max_attempts=1,
    )


def _program(runtime: Runtime) -> Path | None:
    with contextlib.suppress(RuntimeUnavailable):
        found = getattr(runtime, "program", None)
        return found if isinstance(found, Path) else None
    return None


def _needs(package: Package, program: Path | None) -> Iterator[Need]:
    if package.node:
        try:
            path = node(package.node)
            found = f"{path}, {version_of(path)}"
        except RuntimeUnavailable as error:
            found = str(error)
        yield Need(what=f"Node.js {package.node} or newer", found=found)
    if package.registry == "pip":
        found = "looked at once it is installed"
        if program is not None:
            python = program.parent / "python"
            found = f"{python}, {version_of(python) or 'no Python there'}"
        yield Need(what=f"Python {package.python} or newer", found=found)
