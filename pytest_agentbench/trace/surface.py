"""What a runtime's native tools are in the canonical vocabulary."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.trace.events import Event, EventKind, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Native:
    """A native tool: which canonical one it is, and how its arguments are called there.

    ``names`` maps native arguments to canonical ones; others are left out of ``Event.args`` and
    stay in ``Event.native``. ``more`` gives what a table cannot: canonical arguments out of the
    native ones, put on top.
    """

    tool: Tool
    names: Mapping[str, str] = field(default_factory=dict)
    more: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """The tools of one runtime.

    ``version`` is that of this table: it grows when a mapping changes, since process scores may
    change with it.
    """

    runtime: str
    version: int
    tools: Mapping[str, Native]

    def call(
        self, name: str, args: Mapping[str, Any], *, call_id: str = "", time: float | None = None
    ) -> Event:
        """The canonical event of a native call. A tool that is not in the table is ``other``."""
        native = self.tools.get(name, Native(tool=Tool.OTHER))
        canonical: dict[str, Any] = {
            native.names[key]: value for key, value in args.items() if key in native.names
        }
        if native.more is not None:
            canonical.update(native.more(args))
        return Event(
            kind=EventKind.CALL,
            tool=native.tool,
            args=canonical,
            call_id=call_id,
            time=time,
            native_name=name,
            native=dict(args),
        )

    def chat_call(self, given: object, *, time: float | None = None) -> Event:
        """The canonical event of a call as OpenAI's chat completions have it."""
        call = given if isinstance(given, dict) else {}
        function = call.get("function")
        known = function if isinstance(function, dict) else {}
        return self.call(
            str(known.get("name")),
            arguments(known.get("arguments")),
            call_id=str(call.get("id") or ""),
            time=time,
        )


def arguments(given: object) -> dict[str, Any]:
    """Arguments of a call: an object, or the text of one; what is neither is ``input``."""
    if isinstance(given, str):
        with contextlib.suppress(ValueError, RecursionError):
            given = json.loads(given)
    return given if isinstance(given, dict) else {"input": given}


def first_edit(names: Mapping[str, str]) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """``Native.more`` of a tool that makes several edits at once: what the first one tells."""

    def more(args: Mapping[str, Any]) -> Mapping[str, Any]:
        edits = args.get("edits")
        first = edits[0] if isinstance(edits, list) and edits else None
        known = first if isinstance(first, dict) else {}
        return {names[key]: value for key, value in known.items() if key in names}

    return more


def as_write(call: Event) -> Event:
    """The call as it is, but for an edit that makes one new file: that is a write."""
    makes = call.tool == Tool.EDIT and "content" in call.args
    return dataclasses.replace(call, tool=Tool.WRITE) if makes else call


def result(call: Event, text: str, *, failed: bool | None, time: float | None = None) -> Event:
    """The canonical result of ``call``; ``failed`` is None where the runtime does not say."""
    return Event(
        kind=EventKind.RESULT,
        tool=call.tool,
        text=text,
        call_id=call.call_id,
        status=None if failed is None else 500 if failed else 200,
        time=time,
        native_name=call.native_name,
    )
