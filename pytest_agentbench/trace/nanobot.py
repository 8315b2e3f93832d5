"""The transcript of nanobot: JSON lines of a session, with what a killed turn left beside it.

Messages are written when the turn is over, and their times are those of the writing: of use are
the prompt's and the last answer's alone.
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
from pytest_agentbench.trace.transcript import Ending, Transcript, seconds, since, text_of

_PATH = {"path": "path"}
_EDIT = {**_PATH, "old_text": "old", "new_text": "new"}
_FIND = {"path": "path", "pattern": "query", "query": "query"}
#: Arguments that the vocabulary has no word for, where checks may look for a text in them.
_SAME = {name: name for name in ("action", "task", "message", "content", "to", "name", "args")}
_COMMAND = {"command": "command", "cmd": "command", "input": "command"}


_DELEGATE = Native(tool=Tool.DELEGATE, names=_SAME)
_EXEC = Native(tool=Tool.EXEC, names=_COMMAND)
_MESSAGE = Native(tool=Tool.MESSAGE, names=_SAME)
_SEARCH = Native(tool=Tool.SEARCH, names=_FIND)

SURFACE = Surface(
    runtime="nanobot",
    version=1,
    tools={
        "read_file": Native(tool=Tool.READ, names=_PATH),
        "write_file": Native(tool=Tool.WRITE, names={**_PATH, "content": "content"}),
        "edit_file": Native(tool=Tool.EDIT, names=_EDIT),
        "apply_patch": Native(tool=Tool.EDIT, more=first_edit(_EDIT)),
        "exec": _EXEC,
        "exec_session": _EXEC,
        "run_cli_app": Native(tool=Tool.EXEC, names=_SAME),
        "list_dir": _SEARCH,
        "find_files": _SEARCH,
        "grep": _SEARCH,
        "web_search": _SEARCH,
        "web_fetch": Native(tool=Tool.BROWSE, names={"url": "url"}),
        "message": _MESSAGE,
        "send_session_message": _MESSAGE,
        "cron": Native(tool=Tool.SCHEDULE, names=_SAME),
        "spawn": _DELEGATE,
    },
)

Row = Mapping[str, Any]
#: What stands in the place of an answer that never came, which is all that a session tells.
FAILED = "[Assistant reply unavailable due to model error.]"
EMPTY = "I completed the tool steps but couldn't produce a final answer."
LIMIT = "I reached the maximum number of tool call iterations"
_EXIT = re.compile(r"^Exit code: (-?\d+)\s*\Z", re.MULTILINE)
_ERROR = re.compile(r'Error\b|\{"error":')
_HINT = "[Analyze the error above and try a different approach.]"


def parse(rows: Sequence[Row], checkpoint: Row | None = None) -> Transcript:
    """What the rows of a session tell, and the checkpoint of a turn that was cut short.

    A checkpoint has the last answer of the turn and no other. Times count from the beginning of
    the session.
    """
    meta = next((row for row in rows if row.get("_type") == "metadata"), {})
    start = seconds(meta.get("created_at"))
    messages = [row for row in rows if "role" in row]
    events = _events((*messages, *_unfinished(checkpoint or {})))
    if messages and events:
        last = since(messages[-1].get("timestamp"), start)
        events[-1] = dataclasses.replace(events[-1], time=None if checkpoint else last)
    return Transcript(
        events=tuple(events), usage=_usage(meta), ending=None if checkpoint else _ending(messages)
    )


def _unfinished(checkpoint: Row) -> list[Row]:
    state = checkpoint.get("checkpoint")
    if not isinstance(state, dict):
        return []
    results = state.get("completed_tool_results")
    found = [state.get("assistant_message"), *(results if isinstance(results, list) else ())]
    return [message for message in found if isinstance(message, dict)]


def _events(messages: Iterable[Row]) -> list[Event]:
    events: list[Event] = []
    calls: dict[str, Event] = {}
    for message in messages:
        text = text_of(message.get("content"))
        if message.get("role") == "tool":
            known = calls.get(str(message.get("tool_call_id")))
            if known is not None:
                answer = result(known, text, failed=_failed(known, text))
                events.append(dataclasses.replace(answer, native=dict(message)))
        elif message.get("role") == "assistant":
            if text and text != FAILED:
                events.append(Event(kind=EventKind.ASSISTANT, text=text))
            asked = message.get("tool_calls")
            for call in map(SURFACE.chat_call, asked if isinstance(asked, list) else ()):
                calls[call.call_id] = call
                events.append(call)
    return events


def _failed(call: Event, text: str) -> bool:
    """The session keeps the text of a result alone."""
    if call.tool == Tool.EXEC and (code := _EXIT.search(text)):
        return code[1] != "0"
    return text.endswith(_HINT) or _ERROR.match(text) is not None


def _usage(meta: Row) -> Usage:
    """The runtime's own sums, which count cached tokens among the input."""
    metadata = meta.get("metadata")
    usage = metadata.get("_last_usage") if isinstance(metadata, dict) else None
    if not isinstance(usage, dict):
        return Usage()

    def count(name: str) -> int | None:
        return value if type(value := usage.get(name)) is int else None

    asked, read = count("input_tokens"), count("cache_read_tokens")
    written = count("cache_write_tokens")
    cached = (read or 0) + (written or 0)
    return Usage(
        input_tokens=None if asked is None else max(0, asked - cached),
        output_tokens=count("output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        requests=count("request_count"),
    )


def _ending(messages: Sequence[Row]) -> Ending | None:
    """Told by the last message; None if it is no answer, so that one should have come."""
    last = messages[-1] if messages else {}
    text = text_of(last.get("content"))
    if last.get("role") != "assistant" or last.get("tool_calls"):
        return None
    if text == FAILED:
        return Ending(status=Status.PROVIDER_ERROR, message=text)
    if text.startswith(EMPTY):
        return Ending(status=Status.AGENT_ERROR, message="its model said nothing")
    return Ending(status=Status.COMPLETED)
