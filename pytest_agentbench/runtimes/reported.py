"""What an adapter reports of a run, held against what the harness can record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_agentbench.execution import Execution, Usage
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Event, EventKind, Trace

#: Fields that an adapter fills in; the attempt knows the others itself.
_EXECUTION = {"status": Status, "message": str, "trace": Trace, "usage": Usage, "observed": Mapping}
_TRACE = {"events": tuple, "audit_state": Mapping}
_EVENT = {
    "kind": EventKind,
    **dict.fromkeys(("text", "tool", "call_id", "native_name"), str),
    **dict.fromkeys(("args", "native"), Mapping),
}
_NUMBERS = (int, float)


def hold(reported: Execution) -> Execution:
    """``reported``, if it is what it says. Raises ``TypeError``: an adapter's code may say anything."""
    for what, value, kind in _parts(reported):
        if not isinstance(value, kind):
            raise TypeError(f"{what} is {value!r:.80}; it must be {kind.__name__}")
    for what, number in _figures(reported):
        if number is not None and (not isinstance(number, _NUMBERS) or isinstance(number, bool)):
            raise TypeError(f"{what} is {number!r:.80}; it must be a number, or None for unknown")
    return reported


def _parts(reported: Execution) -> Iterator[tuple[str, Any, type]]:
    yield "what it returned", reported, Execution
    yield from _fields(reported, _EXECUTION)
    yield "Execution.flags", reported.flags, tuple
    for place, flag in enumerate(reported.flags):
        yield f"Execution.flags[{place}]", flag, str
    yield from _fields(reported.trace, _TRACE)
    for place, event in enumerate(reported.trace.events):
        yield f"Trace.events[{place}]", event, Event
        yield from _fields(event, _EVENT)


def _fields(owner: object, kinds: Mapping[str, type]) -> Iterator[tuple[str, Any, type]]:
    for name, kind in kinds.items():
        yield f"{type(owner).__name__}.{name}", getattr(owner, name), kind


def _figures(reported: Execution) -> Iterator[tuple[str, Any]]:
    for name in Usage.__dataclass_fields__:
        yield f"Usage.{name}", getattr(reported.usage, name)
    for event in reported.trace.events:
        yield "Event.status", event.status
        yield "Event.time", event.time
