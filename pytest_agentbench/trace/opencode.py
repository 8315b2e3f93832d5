"""The transcript of opencode: messages and their parts, out of its database.

Its agents have sessions of their own. What they did is in the trace, what they said is not: that
was an answer to their parent.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Event, EventKind, Tool
from pytest_agentbench.trace.patch import patched
from pytest_agentbench.trace.surface import Native, Surface, as_write, first_edit, result
from pytest_agentbench.trace.transcript import Ending, Transcript, total, with_deeds

_PATH = {"filePath": "path", "path": "path"}
_EDIT = {**_PATH, "oldString": "old", "newString": "new"}
_FIND = {"path": "path", "pattern": "query", "query": "query"}
#: Arguments that the vocabulary has no word for, where checks may look for a text in them.
_SAME = {name: name for name in ("prompt", "description", "subagent_type")}


def _patched(args: Mapping[str, Any]) -> dict[str, Any]:
    return patched(str(args.get("patchText") or ""))


SURFACE = Surface(
    runtime="opencode",
    version=1,
    tools={
        "read": Native(tool=Tool.READ, names=_PATH),
        "write": Native(tool=Tool.WRITE, names={**_PATH, "content": "content"}),
        "edit": Native(tool=Tool.EDIT, names=_EDIT),
        "multiedit": Native(tool=Tool.EDIT, names=_EDIT, more=first_edit(_EDIT)),
        "apply_patch": Native(tool=Tool.EDIT, more=_patched),
        "patch": Native(tool=Tool.EDIT, more=_patched),
        "bash": Native(tool=Tool.EXEC, names={"command": "command"}),
        "glob": Native(tool=Tool.SEARCH, names=_FIND),
        "grep": Native(tool=Tool.SEARCH, names=_FIND),
        "list": Native(tool=Tool.SEARCH, names=_FIND),
        "lsp": Native(tool=Tool.SEARCH, names=_PATH),
        "codesearch": Native(tool=Tool.SEARCH, names=_FIND),
        "websearch": Native(tool=Tool.SEARCH, names=_FIND),
        "webfetch": Native(tool=Tool.BROWSE, names={"url": "url"}),
        "task": Native(tool=Tool.DELEGATE, names=_SAME),
        "skill": Native(tool=Tool.SKILL, names={"name": "skill"}),
        "question": Native(tool=Tool.MESSAGE),
    },
)

Row = Mapping[str, Any]
_TOO_LONG = re.compile(r"context (?:length|window)|too long|maximum context", re.IGNORECASE)
#: What the runtime calls the end of a turn that failed, where no HTTP status says more.
_ERRORS = {
    "ContextOverflowError": Status.CONTEXT_EXHAUSTED,
    "ProviderAuthError": Status.AUTH_ERROR,
}


def parse(messages: Sequence[Row], subagents: Iterable[Sequence[Row]] = ()) -> Transcript:
    """What the messages of a session tell, and those of its agents. Times count from its first."""
    start = next((t for row in messages if (t := _number(_of(row, "time").get("created")))), None)
    others = [tuple(part) for part in subagents]
    return Transcript(
        events=with_deeds(_events(messages, start), (_events(part, start) for part in others)),
        usage=_usage(row for part in (messages, *others) for row in _answers(part)),
        ending=_ending(messages),
    )


def _answers(messages: Iterable[Row]) -> Iterator[Row]:
    return (row for row in messages if row.get("role") == "assistant")


def _events(messages: Sequence[Row], start: float | None) -> list[Event]:
    events: list[Event] = []
    for row in _answers(messages):
        results: list[Event] = []
        for part in _parts(row):
            match part.get("type"):
                case "text" if (text := str(part.get("text") or "")) and not part.get("synthetic"):
                    time = _since(_of(part, "time").get("start"), start)
                    events.append(Event(kind=EventKind.ASSISTANT, text=text, time=time))
                case "tool":
                    state = _of(part, "state")
                    call = _call(part, state, _since(_of(state, "time").get("start"), start))
                    events.append(call)
                    if state.get("status") in ("completed", "error"):
                        results.append(_result(call, part, state, start))
        # The calls of one answer run side by side.
        events += sorted(results, key=lambda event: event.time or 0.0)
    return events


def _call(part: Row, state: Row, time: float | None) -> Event:
    name, args = str(part.get("tool")), _of(state, "input")
    if name == "invalid":
        # What the runtime makes of a call of a tool that it does not have.
        name, args = str(args.get("tool") or name), {}
    return as_write(SURFACE.call(name, args, call_id=str(part.get("callID") or ""), time=time))


def _result(call: Event, part: Row, state: Row, start: float | None) -> Event:
    failed = state.get("status") == "error" or part.get("tool") == "invalid"
    meta = _of(state, "metadata")
    if part.get("tool") == "bash" and "exit" in meta:
        failed = meta["exit"] != 0
    text = str(state.get("error") or "") if state.get("status") == "error" else ""
    answer = result(
        call,
        text or str(state.get("output") or ""),
        failed=failed,
        time=_since(_of(state, "time").get("end"), start),
    )
    return dataclasses.replace(answer, native=dict(state))


def _usage(answers: Iterable[Row]) -> Usage:
    """Sums over the answers. The runtime takes what was reasoned out of the output."""
    tokens = [_of(row, "tokens") for row in answers if row.get("finish")]
    if not tokens:
        return Usage()

    caches = [_of(part, "cache") for part in tokens]
    reasoning = total(tokens, "reasoning")
    return Usage(
        input_tokens=total(tokens, "input"),
        output_tokens=total(tokens, "output") + reasoning,
        cache_read_tokens=total(caches, "read"),
        cache_write_tokens=total(caches, "write"),
        reasoning_tokens=reasoning,
        requests=len(tokens),
    )


def _ending(messages: Sequence[Row]) -> Ending | None:
    """Told by the last answer; None if it asked for tools, so that another should have come."""
    last = next((row for row in reversed(messages) if row.get("role") == "assistant"), {})
    error = _of(last, "error")
    if not error:
        match last.get("finish"):
            case "stop":
                return Ending(status=Status.COMPLETED)
            case "content-filter":
                return Ending(status=Status.REFUSAL, message="the answer was filtered")
            case "length":
                message = "an answer reached the limit of output tokens"
                return Ending(status=Status.AGENT_ERROR, message=message)
        return None
    data, name = _of(error, "data"), str(error.get("name"))
    message = str(data.get("message") or name)[:2000]
    http = data.get("statusCode")
    unanswered = name == "APIError" and http is None
    status = Status.PROVIDER_ERROR if unanswered else _ERRORS.get(name, Status.AGENT_ERROR)
    if http in (400, 413) and _TOO_LONG.search(f"{message} {data.get('responseBody')}"):
        return Ending(status=Status.CONTEXT_EXHAUSTED, message=message)
    return Ending(status=status, message=message, http=http if type(http) is int else None)


def _of(row: Row, name: str) -> Row:
    value = row.get(name)
    return value if isinstance(value, dict) else {}


def _parts(row: Row) -> list[Row]:
    parts = row.get("parts")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _number(value: object) -> float | None:
    return float(value) if type(value) in (int, float) else None  # type: ignore[arg-type]


def _since(milliseconds: object, start: float | None) -> float | None:
    now = _number(milliseconds)
    return None if now is None or start is None else max(0.0, round((now - start) / 1000, 3))
