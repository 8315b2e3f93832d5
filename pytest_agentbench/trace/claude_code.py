"""The transcript of Claude Code: JSON lines below ``projects`` of its configuration folder.

Subagents have files of their own beside it. What they did is in the trace, what they said is
not: that was an answer to their parent.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Event, EventKind, Tool
from pytest_agentbench.trace.surface import Native, Surface, first_edit, result
from pytest_agentbench.trace.transcript import (
    Ending,
    Transcript,
    since,
    started,
    text_of,
    total,
    with_deeds,
)

_PATH = {"file_path": "path", "notebook_path": "path"}
_EDIT = {**_PATH, "old_string": "old", "new_string": "new", "new_source": "new"}
_FIND = {"path": "path", "pattern": "query", "query": "query"}
#: Arguments that the vocabulary has no word for, where checks may look for a text in them.
_SAME = {
    name: name for name in ("prompt", "script", "skill", "args", "cron", "id", "to", "message")
}


SURFACE = Surface(
    runtime="claude-code",
    version=1,
    tools={
        "Read": Native(tool=Tool.READ, names=_PATH),
        "Write": Native(tool=Tool.WRITE, names={**_PATH, "content": "content"}),
        "Edit": Native(tool=Tool.EDIT, names=_EDIT),
        "MultiEdit": Native(tool=Tool.EDIT, names=_EDIT, more=first_edit(_EDIT)),
        "NotebookEdit": Native(tool=Tool.EDIT, names=_EDIT),
        "Bash": Native(tool=Tool.EXEC, names={"command": "command"}),
        "Monitor": Native(tool=Tool.EXEC, names={"command": "command"}),
        "Glob": Native(tool=Tool.SEARCH, names=_FIND),
        "Grep": Native(tool=Tool.SEARCH, names=_FIND),
        "LS": Native(tool=Tool.SEARCH, names=_FIND),
        "WebSearch": Native(tool=Tool.SEARCH, names=_FIND),
        "WebFetch": Native(tool=Tool.BROWSE, names={"url": "url"}),
        "Agent": Native(tool=Tool.DELEGATE, names=_SAME),
        "Task": Native(tool=Tool.DELEGATE, names=_SAME),
        "Workflow": Native(tool=Tool.DELEGATE, names=_SAME),
        "Skill": Native(tool=Tool.SKILL, names=_SAME),
        "CronCreate": Native(tool=Tool.SCHEDULE, names=_SAME),
        "CronDelete": Native(tool=Tool.SCHEDULE, names=_SAME),
        "CronList": Native(tool=Tool.SCHEDULE),
        "ScheduleWakeup": Native(tool=Tool.SCHEDULE, names=_SAME),
        "SendMessage": Native(tool=Tool.MESSAGE, names=_SAME),
        "AskUserQuestion": Native(tool=Tool.MESSAGE),
    },
)

Row = Mapping[str, Any]
_TOO_LONG = re.compile(r"prompt is too long|context window", re.IGNORECASE)
#: What the runtime calls a failed model call for which it keeps no HTTP status.
_ERRORS = {
    "authentication_failed": Status.AUTH_ERROR,
    "rate_limit": Status.PROVIDER_ERROR,
    "overloaded": Status.PROVIDER_ERROR,
    "server_error": Status.PROVIDER_ERROR,
    "connection_failed": Status.PROVIDER_ERROR,
}


def parse(rows: Sequence[Row], subagents: Iterable[Sequence[Row]] = ()) -> Transcript:
    """What the rows of a session tell, and those of its subagents. Times count from its first."""
    start, others = started(rows), [tuple(part) for part in subagents]
    return Transcript(
        events=with_deeds(_events(rows, start), (_events(part, start) for part in others)),
        usage=_usage(row for part in (rows, *others) for row in part),
        ending=_ending(rows),
    )


def _events(rows: Sequence[Row], start: float | None) -> list[Event]:
    events: list[Event] = []
    calls: dict[str, Event] = {}
    for row in rows:
        time = since(row.get("timestamp"), start)
        for block in _blocks(row):
            match row.get("type"), block.get("type"):
                case "assistant", "text" if text := str(block.get("text") or ""):
                    if not row.get("isApiErrorMessage"):
                        events.append(Event(kind=EventKind.ASSISTANT, text=text, time=time))
                case "assistant", "tool_use":
                    args = block.get("input")
                    call = SURFACE.call(
                        str(block.get("name")),
                        args if isinstance(args, dict) else {"input": args},
                        call_id=str(block.get("id") or ""),
                        time=time,
                    )
                    calls[call.call_id] = call
                    events.append(call)
                case "user", "tool_result":
                    known = calls.get(str(block.get("tool_use_id")))
                    if known is not None:
                        # Left out where nothing failed, by some of the tools.
                        failed = bool(block.get("is_error"))
                        answer = result(
                            known, text_of(block.get("content")), failed=failed, time=time
                        )
                        events.append(dataclasses.replace(answer, native=dict(block)))
    return events


def _message(row: Row) -> Row:
    message = row.get("message")
    return message if isinstance(message, dict) else {}


def _blocks(row: Row) -> list[Row]:
    """The parts of a message; a prompt, which is mere text, has none."""
    content = _message(row).get("content")
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _usage(rows: Iterable[Row]) -> Usage:
    """Sums over the answers; each has a row for each of its blocks, all with the same usage."""
    found: dict[str, Row] = {}
    for row in rows:
        message = _message(row)
        if row.get("type") == "assistant" and message.get("model") != "<synthetic>":
            usage = message.get("usage")
            found[str(message.get("id"))] = usage if isinstance(usage, dict) else {}
    answers = list(found.values())
    if not answers:
        return Usage()

    thought = [
        details.get("thinking_tokens")
        for usage in answers
        if isinstance(details := usage.get("output_tokens_details"), dict)
    ]
    return Usage(
        input_tokens=total(answers, "input_tokens"),
        output_tokens=total(answers, "output_tokens"),
        cache_read_tokens=total(answers, "cache_read_input_tokens"),
        cache_write_tokens=total(answers, "cache_creation_input_tokens"),
        reasoning_tokens=sum(v for v in thought if type(v) is int) if thought else None,
        requests=len(answers),
    )


def _ending(rows: Sequence[Row]) -> Ending | None:
    """Told by the last answer; None if it asked for tools, so that another should have come."""
    last = next((row for row in reversed(rows) if row.get("type") == "assistant"), None)
    if last is None:
        return None
    message = _message(last)
    text = "\n".join(str(b.get("text") or "") for b in _blocks(last))[:2000]
    if message.get("stop_reason") == "refusal":
        return Ending(status=Status.REFUSAL, message=text)
    if not last.get("isApiErrorMessage"):
        done = message.get("stop_reason") in ("end_turn", "stop_sequence")
        return Ending(status=Status.COMPLETED) if done else None
    params = last.get("apiErrorParams")
    cut = params.get("cut") if isinstance(params, dict) else None
    if cut == "context_window" or _TOO_LONG.search(str(last.get("errorDetails") or "")):
        return Ending(status=Status.CONTEXT_EXHAUSTED, message=text)
    http = last.get("apiErrorStatus")
    error = _ERRORS.get(str(last.get("apiError"))) or _ERRORS.get(str(last.get("error")))
    return Ending(
        status=error or Status.AGENT_ERROR,
        message=text,
        http=http if type(http) is int else None,
    )
