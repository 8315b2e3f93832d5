"""Short ways to evaluate one check in a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_agentbench.grade import CheckResult
from pytest_agentbench.grading.check import evaluate
from pytest_agentbench.grading.evidence import Evidence
from pytest_agentbench.scenario.model import CheckSpec, InputFile
from pytest_agentbench.trace.events import Event, EventKind, Trace


def check(
    kind: str,
    workspace: Path,
    *,
    trace: Trace | None = None,
    inputs: tuple[InputFile, ...] = (),
    sandbox: Any = None,
    **params: Any,
) -> CheckResult:
    evidence = Evidence(workspace=workspace, trace=trace or Trace(), inputs=inputs, sandbox=sandbox)
    return evaluate(CheckSpec(id="c", type=kind, params=params), evidence)


def call(tool: str, *, call_id: str = "", **args: Any) -> Event:
    return Event(kind=EventKind.CALL, tool=tool, args=args, call_id=call_id)


def result(
    text: str = "", *, call_id: str = "", status: int | None = None, tool: str = ""
) -> Event:
    return Event(kind=EventKind.RESULT, text=text, call_id=call_id, status=status, tool=tool)


def said(text: str) -> Event:
    return Event(kind=EventKind.ASSISTANT, text=text)


def trace_of(*events: Event) -> Trace:
    return Trace(events=events)
