"""Inquiries of checkers: each may be put to the trial, and to the reference answer after it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pytest_agentbench.execution import Execution
from pytest_agentbench.grade import CheckResult
from pytest_agentbench.grading import custom, published
from pytest_agentbench.grading.call import (
    Code,
    Evaluation,
    GradeCall,
    PythonCall,
    Request,
    TranscriptCall,
)
from pytest_agentbench.grading.check import evaluate
from pytest_agentbench.grading.client import CheckerServer, Crash
from pytest_agentbench.grading.evidence import Evidence
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.scenario.imports import checkout
from pytest_agentbench.scenario.model import CheckSpec, GraderCode, Scenario
from pytest_agentbench.status import Status, TrialFault

T = TypeVar("T")
#: Over a workspace and what happened in it. Raises ``TrialFault`` for the harness's own trouble.
Inquiry = Callable[[Path, Execution], T | Crash]


def about_check(scenario: Scenario, spec: CheckSpec, sandbox: Sandbox) -> Inquiry[CheckResult]:
    """A declared check that this process evaluates."""

    def ask(workspace: Path, execution: Execution) -> CheckResult | Crash:
        evidence = Evidence(
            workspace=workspace, trace=execution.trace, inputs=scenario.inputs, sandbox=sandbox
        )
        try:
            return evaluate(spec, evidence)
        except TrialFault as fault:
            if fault.status is not Status.CHECKER_ERROR:
                raise
            return Crash(kind="raised", message=str(fault))

    return ask


def about_checks(
    scenario: Scenario, specs: Sequence[CheckSpec], server: CheckerServer
) -> Inquiry[list[CheckResult]]:
    """Declared checks that one child of the server evaluates together."""

    def request(workspace: Path, execution: Execution) -> Request:
        return Evaluation(
            specs=tuple(specs),
            workspace=workspace,
            trace=execution.trace,
            inputs=scenario.inputs,
        )

    return _inquiry(server, request, _read_results)


def about_function(spec: CheckSpec, server: CheckerServer) -> Inquiry[CheckResult]:
    """A ``python`` check of a native scenario."""
    path = Path(spec.params["file"])

    def request(workspace: Path, execution: Execution) -> Request:
        return PythonCall(
            code=Code(path=path, search=checkout(path)),
            function=spec.params["function"],
            workspace=workspace,
            trace=published.trace_dict(execution),
            args=spec.params.get("args") or {},
        )

    return _inquiry(server, request, lambda value: custom.read_answer(spec, value))


def about_all(
    scenario: Scenario,
    grader: GraderCode,
    server: CheckerServer,
    copied: Callable[[Path], Path],
) -> Inquiry[custom.Outcome]:
    """A grader of a published form, which judges the trial as a whole.

    Most only read, so it is first asked over the workspace itself, and ended when it sets out to
    change something. Who does, or gives no verdict, is asked over what ``copied`` returns, a copy
    where that is to be had. What is in the server's own folder may be changed as it is.
    """
    code = Code(
        path=grader.path,
        source=grader.source or "",
        name=scenario.path.name,
        search=checkout(grader.path) if grader.path else (),
    )

    def request(workspace: Path, execution: Execution, *, reads_only: bool = False) -> Request:
        at: dict[str, Any] = {"code": code, "workspace": workspace, "reads_only": reads_only}
        if grader.api == "evoclaw":
            return TranscriptCall(**at, transcript=published.transcript(execution))
        trace = published.trace_dict(execution)
        return GradeCall(**at, trace=trace, tool_calls=published.tool_calls(trace))

    read = custom.read_scores if grader.api == "evoclaw" else custom.read_checkpoints
    reading = _inquiry(server, functools.partial(request, reads_only=True), read)
    writing = _inquiry(server, request, read)

    def ask(workspace: Path, execution: Execution) -> custom.Outcome | Crash:
        if workspace.is_relative_to(server.scratch):
            return writing(workspace, execution)
        if code not in server.writers:
            answer = reading(workspace, execution)
            if not isinstance(answer, Crash) or answer.kind == "timeout":
                return answer
            if answer.kind == "writes":
                server.writers.add(code)
        return writing(copied(workspace), execution)

    return ask


def _inquiry(
    server: CheckerServer,
    request: Callable[[Path, Execution], Request],
    read: Callable[[Any], T],
) -> Inquiry[T]:
    def ask(workspace: Path, execution: Execution) -> T | Crash:
        answer = server.call(request(workspace, execution))
        if isinstance(answer, Crash):
            return answer
        try:
            return read(answer.value)
        except custom.Malformed as problem:
            return Crash(kind="invalid", message=str(problem))

    return ask


def _read_results(value: Any) -> list[CheckResult]:
    if isinstance(value, dict):
        raise TrialFault(Status(value["fault"]), value["message"])
    return [CheckResult(**{**result, "flags": tuple(result["flags"])}) for result in value]
