"""A trace as a trajectory of ATIF, the Agent Trajectory Interchange Format, version 1.8."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.trace.events import Event, EventKind, Trace

VERSION = "ATIF-v1.8"


def to_atif(
    trace: Trace,
    *,
    agent: str,
    version: str,
    model: str,
    usage: Usage,
    session_id: str,
    started: float | None = None,
) -> dict[str, Any]:
    """The trajectory, as JSON.

    An agent's turn, which is what it said and called before the next results, is one step, and has
    the results of its calls. Calls have the name and the arguments that the runtime gave them; what
    they are in the canonical vocabulary is in ``extra``. Figures that are unknown are left out.

    ``started`` is when the execution began, in seconds since 1970; without it, steps have no
    timestamp. Raises ``ValueError`` for a trace without events, which ATIF has no form for.
    """
    if not trace.events:
        raise ValueError("a trace without events cannot be a trajectory")
    path = _Path()
    for event in trace.events:
        path.add(event)
    steps = [
        step.to_json(number, started or None) for number, step in enumerate(path.steps, start=1)
    ]
    return _known(
        schema_version=VERSION,
        session_id=session_id,
        agent=_known(name=agent, version=version or "unknown", model_name=model or None),
        steps=steps,
        final_metrics=_metrics(usage, len(steps)),
        extra={"audit_state": dict(trace.audit_state)} if trace.audit_state else None,
    )


def _known(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _metrics(usage: Usage, steps: int) -> dict[str, Any]:
    prompt = None
    if usage.input_tokens is not None:
        cached = (usage.cache_read_tokens, usage.cache_write_tokens)
        prompt = usage.input_tokens + sum(each or 0 for each in cached)
    extra = _known(
        cache_write_tokens=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        requests=usage.requests,
    )
    return _known(
        total_prompt_tokens=prompt,
        total_completion_tokens=usage.output_tokens,
        total_cached_tokens=usage.cache_read_tokens,
        total_cost_usd=usage.cost_usd,
        total_steps=steps,
        extra=extra or None,
    )


@dataclass(slots=True, eq=False)
class _Call:
    event: Event
    #: Unique in the trajectory, which what runtimes use is not always.
    id: str

    def to_json(self) -> dict[str, Any]:
        event = self.event
        native = bool(event.native_name)
        extra: dict[str, Any] = {}
        if native:
            extra = {"canonical_tool": str(event.tool), "canonical_arguments": dict(event.args)}
        if event.call_id and event.call_id != self.id:
            extra["native_call_id"] = event.call_id
        return _known(
            tool_call_id=self.id,
            function_name=event.native_name or str(event.tool),
            arguments=dict(event.native if native else event.args),
            extra=extra or None,
        )


@dataclass(slots=True, eq=False)
class _Step:
    source: str
    time: float | None
    texts: list[str] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self, number: int, started: float | None) -> dict[str, Any]:
        return _known(
            step_id=number,
            timestamp=_timestamp(started, self.time),
            source=self.source,
            message="\n".join(self.texts),
            tool_calls=[call.to_json() for call in self.calls] or None,
            observation={"results": self.results} if self.results else None,
        )


@dataclass(slots=True)
class _Path:
    """The steps so far."""

    steps: list[_Step] = field(default_factory=list)
    #: Whether the last step is a turn of the agent that goes on.
    turn: bool = False
    ids: set[str] = field(default_factory=set)
    #: Calls without a result, by the id that the runtime gave them.
    waiting: dict[str, list[tuple[_Step, _Call]]] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        match event.kind:
            case EventKind.USER:
                self._begin("user", event).texts.append(event.text)
            case EventKind.ASSISTANT:
                self._agent(event).texts.append(event.text)
            case EventKind.CALL:
                self._call(event)
            case EventKind.RESULT:
                self._result(event)

    def _begin(self, source: str, event: Event) -> _Step:
        step = _Step(source, event.time)
        self.steps.append(step)
        self.turn = source == "agent"
        return step

    def _agent(self, event: Event) -> _Step:
        return self.steps[-1] if self.turn else self._begin("agent", event)

    def _call(self, event: Event) -> None:
        step, call = self._agent(event), _Call(event, self._id(event))
        step.calls.append(call)
        self.waiting.setdefault(event.call_id, []).append((step, call))

    def _id(self, event: Event) -> str:
        stem = event.call_id or "call"
        number, found = 1, event.call_id
        while not found or found in self.ids:
            found, number = f"{stem}-{number}", number + 1
        self.ids.add(found)
        return found

    def _result(self, event: Event) -> None:
        self.turn = False
        extra: Mapping[str, Any] | None = None
        if event.status is not None:
            extra = {"status": event.status}
        found = self._called(event)
        if found is None:
            # Nobody called: an observation that no call is the source of.
            self._begin("system", event).results.append(_known(content=event.text, extra=extra))
            return
        step, call = found
        step.results.append(_known(source_call_id=call.id, content=event.text, extra=extra))

    def _called(self, event: Event) -> tuple[_Step, _Call] | None:
        """The call of a result: in the last step with one of its id that has no result yet."""
        waiting = self.waiting.get(event.call_id)
        if not waiting:
            return None
        here = [each for each in waiting if each[0] is waiting[-1][0]]
        same = [each for each in here if each[1].event.native_name == event.native_name]
        found = (same or here)[0]
        waiting.remove(found)
        return found


def _timestamp(started: float | None, time: float | None) -> str | None:
    if started is None or time is None:
        return None
    try:
        moment = datetime.datetime.fromtimestamp(started + time, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return None  # What a runtime says of time may be anything.
    return moment.isoformat(timespec="milliseconds")
