"""The transcript of OpenClaw: entries of a session, as JSON lines or as rows of its database.

Subagents have sessions of their own. What they did is in the trace, what they said is not: that
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
from pytest_agentbench.trace.transcript import Ending, Transcript, since, started, total, with_deeds

_PATH = {"path": "path", "file_path": "path"}
_EDIT = {"oldText": "old", "newText": "new", "old_string": "old", "new_string": "new"}
_FIND = {"path": "path", "pattern": "query", "query": "query"}
#: Arguments that the vocabulary has no word for, where checks may look for a text in them.
_SAME = {name: name for name in ("action", "task", "message", "text", "job", "id", "to", "target")}


def _patched(args: Mapping[str, Any]) -> dict[str, Any]:
    return patched(str(args.get("input") or ""))


_DELEGATE = Native(tool=Tool.DELEGATE, names=_SAME)
_MESSAGE = Native(tool=Tool.MESSAGE, names=_SAME)
_MEMORY = Native(tool=Tool.MEMORY, names=_FIND)
_SCHEDULE = Native(tool=Tool.SCHEDULE, names=_SAME)
_SEARCH = Native(tool=Tool.SEARCH, names=_FIND)

SURFACE = Surface(
    runtime="openclaw",
    version=1,
    tools={
        "read": Native(tool=Tool.READ, names=_PATH),
        "file_fetch": Native(tool=Tool.READ, names=_PATH),
        "write": Native(tool=Tool.WRITE, names={**_PATH, "content": "content"}),
        "file_write": Native(tool=Tool.WRITE, names=_PATH),
        "edit": Native(tool=Tool.EDIT, names={**_PATH, **_EDIT}, more=first_edit(_EDIT)),
        "apply_patch": Native(tool=Tool.EDIT, more=_patched),
        "exec": Native(tool=Tool.EXEC, names={"command": "command"}),
        "process": Native(tool=Tool.EXEC, names={"text": "command", "data": "command"}),
        "ls": _SEARCH,
        "find": _SEARCH,
        "grep": _SEARCH,
        "dir_list": _SEARCH,
        "dir_fetch": _SEARCH,
        "web_search": _SEARCH,
        "web_fetch": Native(tool=Tool.BROWSE, names={"url": "url"}),
        "browser": Native(tool=Tool.BROWSE, names={"url": "url"}),
        "message": _MESSAGE,
        "ask_user": _MESSAGE,
        "conversations_send": _MESSAGE,
        "conversations_turn": _MESSAGE,
        "cron": _SCHEDULE,
        "automations": _SCHEDULE,
        "intent": Native(tool=Tool.MEMORY, names=_SAME),
        "memory_get": _MEMORY,
        "memory_search": _MEMORY,
        "skill_workshop": Native(tool=Tool.SKILL, names=_SAME),
        "sessions_spawn": _DELEGATE,
        "sessions_send": _DELEGATE,
        "sessions_yield": _DELEGATE,
        "subagents": _DELEGATE,
        "agents_list": _DELEGATE,
        "agents_wait": _DELEGATE,
    },
)

Row = Mapping[str, Any]
#: Answers that the runtime writes itself, to mirror what it delivered elsewhere.
_MIRRORS = ("delivery-mirror", "gateway-injected")
_HTTP = re.compile(r"([45]\d\d)\b")
_UNREACHABLE = re.compile(
    r"connection|timed? ?out|fetch failed|socket|network|ECONN|terminated|stream", re.IGNORECASE
)
_REFUSED = re.compile(r"content_filter|refusal|refused to answer", re.IGNORECASE)


def parse(rows: Sequence[Row], subagents: Iterable[Sequence[Row]] = ()) -> Transcript:
    """What the entries of a session tell, and those of its subagents. Times count from its first."""
    start, others = started(rows), [tuple(part) for part in subagents]
    return Transcript(
        events=with_deeds(_events(rows, start), (_events(part, start) for part in others)),
        usage=_usage(row for part in (rows, *others) for row in part),
        ending=_ending(rows),
    )


def _events(rows: Iterable[Row], start: float | None) -> list[Event]:
    events: list[Event] = []
    calls: dict[str, Event] = {}
    for row in rows:
        message, time = _message(row), since(row.get("timestamp"), start)
        if message.get("role") == "toolResult":
            known = calls.get(str(message.get("toolCallId")))
            if known is not None:
                answer = result(known, _text(message), failed=_failed(message), time=time)
                events.append(dataclasses.replace(answer, native=dict(message)))
        elif message.get("role") == "assistant" and message.get("model") not in _MIRRORS:
            for part in _parts(message):
                if part.get("type") == "toolCall":
                    call = _call(part, time)
                    calls[call.call_id] = call
                    events.append(call)
                elif part.get("type") == "text" and (text := str(part.get("text") or "")):
                    events.append(Event(kind=EventKind.ASSISTANT, text=text, time=time))
    return events


def _call(part: Row, time: float | None) -> Event:
    name, given = str(part.get("name")), part.get("arguments")
    args = given if isinstance(given, dict) else {"input": given}
    call_id = str(part.get("id") or "")
    if name != "tool_call":
        return as_write(SURFACE.call(name, args, call_id=call_id, time=time))
    # Tools that are not offered at once are called through this one, by name or search result.
    inner = args.get("args")
    called = SURFACE.call(
        str(args.get("id")).rpartition(":")[2],
        inner if isinstance(inner, dict) else {},
        call_id=call_id,
        time=time,
    )
    return dataclasses.replace(called, native=dict(args))


def _failed(message: Row) -> bool | None:
    """Older versions report what failed, and all report an exit code, as no error."""
    details = message.get("details")
    known = details if isinstance(details, dict) else {}
    if message.get("isError") or known.get("status") in ("error", "failed", "timeout"):
        return True
    if known.get("status") == "running":
        return None
    return type(code := known.get("exitCode")) is int and code != 0


def _message(row: Row) -> Row:
    message = row.get("message") if row.get("type") == "message" else None
    return message if isinstance(message, dict) else {}


def _parts(message: Row) -> list[Row]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [p for p in content if isinstance(p, dict)] if isinstance(content, list) else []


def _text(message: Row) -> str:
    return "\n".join(str(p.get("text") or f"[{p.get('type')}]") for p in _parts(message))


def _answers(rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        message = _message(row)
        if message.get("role") == "assistant" and message.get("model") not in _MIRRORS:
            yield message


def _usage(rows: Iterable[Row]) -> Usage:
    """Sums over the answers. Input is without what was read from a cache."""
    answers = [usage if isinstance(usage := m.get("usage"), dict) else {} for m in _answers(rows)]
    if not answers:
        return Usage()

    return Usage(
        input_tokens=total(answers, "input"),
        output_tokens=total(answers, "output"),
        cache_read_tokens=total(answers, "cacheRead"),
        cache_write_tokens=total(answers, "cacheWrite"),
        requests=len(answers),
    )


def _ending(rows: Iterable[Row]) -> Ending | None:
    """Told by the last answer; None if it asked for tools, so that another should have come."""
    last: Row = {}
    for last in _answers(rows):  # noqa: B007 the last one is meant
        pass
    match last.get("stopReason"):
        case "stop" | "length":
            return Ending(status=Status.COMPLETED)
        case "error":
            return _failure(last)
    return None


def _failure(answer: Row) -> Ending:
    message = str(answer.get("errorMessage") or "")[:2000]
    if _REFUSED.search(f"{message} {answer.get('errorCode')}"):
        return Ending(status=Status.REFUSAL, message=message)
    found = _HTTP.match(str(answer.get("errorCode") or "")) or _HTTP.match(message)
    unreachable = found is None and _UNREACHABLE.search(message)
    return Ending(
        status=Status.PROVIDER_ERROR if unreachable else Status.AGENT_ERROR,
        message=message.removeprefix(f"{found[1]} ") if found else message,
        http=int(found[1]) if found else None,
    )
