"""Canonical trace events and the canonical tool vocabulary."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


class Tool(enum.StrEnum):
    """The vocabulary that checks, expected tools, process scores and solutions speak.

    Normalised arguments, where a native call has them: ``path`` (read, write, edit),
    ``content`` (write), ``old`` and ``new`` (edit), ``argv`` (list) or ``command`` (text of a
    shell line) (exec), ``query`` (search), ``url`` (browse), ``service`` and ``args`` (other).
    """

    READ = "read"
    WRITE = "write"
    EDIT = "edit"
    EXEC = "exec"
    SEARCH = "search"
    BROWSE = "browse"
    MESSAGE = "message"
    SCHEDULE = "schedule"
    MEMORY = "memory"
    DELEGATE = "delegate"
    SKILL = "skill"
    OTHER = "other"


class EventKind(enum.StrEnum):
    USER = "user_message"
    ASSISTANT = "assistant_message"
    CALL = "tool_call"
    RESULT = "tool_result"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened.

    ``text`` is a message's text, or a tool result's. ``status`` of a result follows HTTP's
    ranges: 200 worked, 500 failed, 504 timed out; None where the runtime does not say.
    ``time`` is seconds since the execution began. ``native_name`` and ``native`` keep what the
    runtime itself wrote.
    """

    kind: EventKind
    text: str = ""
    tool: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    call_id: str = ""
    status: int | None = None
    time: float | None = None
    native_name: str = ""
    native: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The events of one execution, in order.

    ``audit_state`` is state that a runtime's services report at the end (calendars, mail boxes,
    …), as the check ``audit_state_match`` reads it.
    """

    events: tuple[Event, ...] = ()
    audit_state: Mapping[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> tuple[Event, ...]:
        return tuple(event for event in self.events if event.kind is EventKind.CALL)

    @property
    def results(self) -> tuple[Event, ...]:
        return tuple(event for event in self.events if event.kind is EventKind.RESULT)

    @property
    def steps(self) -> int:
        """Assistant turns: a run of assistant messages and tool calls between inputs counts once."""
        turns, inside = 0, False
        for event in self.events:
            of_agent = event.kind in (EventKind.ASSISTANT, EventKind.CALL)
            turns += of_agent and not inside
            inside = of_agent
        return turns

    @property
    def response(self) -> str:
        """All that the agent said, joined by newlines."""
        return "\n".join(e.text for e in self.events if e.kind is EventKind.ASSISTANT)

    @property
    def acted(self) -> bool:
        """Whether the agent did or said anything at all."""
        return any(e.kind in (EventKind.ASSISTANT, EventKind.CALL) for e in self.events)


def prompted(prompt: str, events: Iterable[Event]) -> Trace:
    """The trace that begins with the prompt and goes on with ``events``."""
    return Trace(events=(Event(kind=EventKind.USER, text=prompt, time=0.0), *events))
