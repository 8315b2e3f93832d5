"""The transcript of Gemini CLI: JSON lines below ``tmp/*/chats`` of its home.

Calls are written there once they have results, so what a run that was killed had called last is
told by the events on its standard output alone. Its agents have files of their own beside it.
What they did is in the trace, what they said is not: that was an answer to their parent.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Event, EventKind, Tool
from pytest_agentbench.trace.surface import Native, Surface, result
from pytest_agentbench.trace.transcript import Ending, Transcript, seconds, since, total, with_deeds

_PATH = {"file_path": "path", "absolute_path": "path"}
_FIND = {"dir_path": "path", "path": "path", "pattern": "query", "query": "query"}
#: Arguments that the vocabulary has no word for, where checks may look for a text in them.
_SAME = {name: name for name in ("prompt", "agent_name", "objective", "request", "fact")}
_URL = re.compile(r"https?://[^\s\"'<>]+")


def _fetched(args: Mapping[str, Any]) -> dict[str, Any]:
    found = _URL.search(str(args.get("url") or args.get("prompt") or ""))
    return {"url": found[0]} if found else {}


def _first_included(args: Mapping[str, Any]) -> dict[str, Any]:
    paths = args.get("include") or args.get("paths")
    return {"path": paths[0]} if isinstance(paths, list) and paths else {}


SURFACE = Surface(
    runtime="gemini-cli",
    version=1,
    tools={
        "read_file": Native(tool=Tool.READ, names=_PATH),
        "read_many_files": Native(tool=Tool.READ, more=_first_included),
        "write_file": Native(tool=Tool.WRITE, names={**_PATH, "content": "content"}),
        "replace": Native(
            tool=Tool.EDIT, names={**_PATH, "old_string": "old", "new_string": "new"}
        ),
        "run_shell_command": Native(tool=Tool.EXEC, names={"command": "command"}),
        "glob": Native(tool=Tool.SEARCH, names=_FIND),
        "grep_search": Native(tool=Tool.SEARCH, names=_FIND),
        "search_file_content": Native(tool=Tool.SEARCH, names=_FIND),
        "list_directory": Native(tool=Tool.SEARCH, names=_FIND),
        "google_web_search": Native(tool=Tool.SEARCH, names=_FIND),
        "web_fetch": Native(tool=Tool.BROWSE, more=_fetched),
        "save_memory": Native(tool=Tool.MEMORY, names=_SAME),
        "invoke_agent": Native(tool=Tool.DELEGATE, names=_SAME),
        "codebase_investigator": Native(tool=Tool.DELEGATE, names=_SAME),
        "activate_skill": Native(tool=Tool.SKILL, names={"name": "skill"}),
        "ask_user": Native(tool=Tool.MESSAGE),
    },
)

Row = Mapping[str, Any]
#: How a command ended, below what it printed.
_FAILED = re.compile(
    r"^(?:Exit Code: (?!0$)|Signal: (?!\(none\))|Error: (?!\(none\)))", re.MULTILINE
)
_CANCELLED = re.compile(r"(?:<untrusted_context>\s*)?Command was (?:automatically )?cancelled")
_TOO_LONG = re.compile(r"token count.{0,60}exceeds|context window|too long", re.IGNORECASE)
_BLOCKED = re.compile(r"blocked|safety|prohibited", re.IGNORECASE)
_NO_ANSWER = re.compile(
    r"fetch failed|ECONNREFUSED|ECONNRESET|ETIMEDOUT|socket hang up|terminated", re.IGNORECASE
)


def parse(
    rows: Sequence[Row],
    subagents: Iterable[Sequence[Row]] = (),
    *,
    stream: Sequence[Row] = (),
    cut: bool = False,
    exit_code: int | None = None,
) -> Transcript:
    """What the rows of a chat tell, and those of its agents. Times count from its first.

    ``stream`` are the events on standard output, of which the last are missing if it was ``cut``.
    The exit code is the HTTP status that ended the run, as far as one has room for it.
    """
    start = seconds(rows[0].get("startTime")) if rows else None
    others = [tuple(_messages(part)) for part in subagents]
    main = tuple(_messages(rows))
    own = _events(main, start)
    known = {event.call_id for event in own}
    own += [call for call in _called(stream, start) if call.call_id not in known]
    return Transcript(
        events=with_deeds(own, (_events(part, start) for part in others)),
        usage=_usage(row for part in (main, *others) for row in part),
        ending=_ending(main, stream, cut, exit_code),
    )


def _messages(rows: Iterable[Row]) -> list[Row]:
    """The answers of the model: each is written anew when more is known of it."""
    found = {str(row.get("id")): row for row in rows if row.get("type") == "gemini"}
    return list(found.values())


def _events(answers: Iterable[Row], start: float | None) -> list[Event]:
    events: list[Event] = []
    for row in answers:
        time = since(row.get("timestamp"), start)
        if text := _said(row.get("content")):
            events.append(Event(kind=EventKind.ASSISTANT, text=text, time=time))
        results = []
        for native in _calls(row):
            args = native.get("args")
            call = SURFACE.call(
                str(native.get("name")),
                args if isinstance(args, dict) else {},
                call_id=str(native.get("id") or ""),
                time=time,
            )
            events.append(call)
            if native.get("status") in ("success", "error", "cancelled"):
                results.append(_result(call, native, start))
        # The calls of one answer run side by side.
        events += results
    return events


def _called(stream: Iterable[Row], start: float | None) -> Iterator[Event]:
    for row in stream:
        if row.get("type") == "tool_use":
            args = row.get("parameters")
            yield SURFACE.call(
                str(row.get("tool_name")),
                args if isinstance(args, dict) else {},
                call_id=str(row.get("tool_id") or ""),
                time=since(row.get("timestamp"), start),
            )


def _result(call: Event, native: Row, start: float | None) -> Event:
    text = _answered(native.get("result"))
    failed = native.get("status") != "success"
    if call.native_name == "run_shell_command" and not failed:
        # What the command printed may look like the lines below it.
        printed = f"Output: {native.get('resultDisplay')}"
        below = text.partition(printed)[2] if printed in text else text
        failed = bool(_FAILED.search(below) or _CANCELLED.match(text))
    answer = result(call, text, failed=failed, time=since(native.get("timestamp"), start))
    return dataclasses.replace(answer, native=dict(native))


def _calls(row: Row) -> list[Row]:
    calls = row.get("toolCalls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _said(content: object) -> str:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))


def _answered(parts: object) -> str:
    """The text that the model was given of a result."""
    texts = []
    for part in parts if isinstance(parts, list) else ():
        inner = part.get("functionResponse") if isinstance(part, dict) else None
        response = inner.get("response") if isinstance(inner, dict) else None
        if isinstance(response, dict):
            texts.append(str(response.get("output") or response.get("error") or ""))
        elif isinstance(part, dict):
            texts.append(str(part.get("text") or f"[{next(iter(part), '')}]"))
    return "\n".join(texts)


def _usage(answers: Iterable[Row]) -> Usage:
    """Sums over the answers. The runtime counts cached tokens among the input."""
    tokens = [said for row in answers if isinstance(said := row.get("tokens"), dict)]
    if not tokens:
        return Usage()

    cached = total(tokens, "cached")
    return Usage(
        input_tokens=max(0, total(tokens, "input", "tool") - cached),
        output_tokens=total(tokens, "output", "thoughts"),
        cache_read_tokens=cached,
        reasoning_tokens=total(tokens, "thoughts"),
        requests=len(tokens),
    )


def _ending(
    answers: Sequence[Row], stream: Sequence[Row], cut: bool, code: int | None
) -> Ending | None:
    """Told by the last event; where that was not kept, by an answer that asks for no tools.

    The exit code alone tells nothing: the program ends with 0 when it is asked to stop.
    """
    told = next((row for row in reversed(stream) if row.get("type") == "result"), {})
    error = told.get("error")
    if told.get("status") == "error" or isinstance(error, dict):
        said = error if isinstance(error, dict) else _complaint(stream)
        return _failure(str(said.get("message") or "")[:2000], code)
    done = cut and code == 0 and answers and not _calls(answers[-1])
    return Ending(status=Status.COMPLETED) if told.get("status") == "success" or done else None


def _complaint(stream: Sequence[Row]) -> Row:
    return next((row for row in reversed(stream) if row.get("type") == "error"), {})


def _failure(message: str, code: int | None) -> Ending:
    http = code + 256 if code is not None and 400 <= code + 256 < 512 else None
    if _TOO_LONG.search(message):
        return Ending(status=Status.CONTEXT_EXHAUSTED, message=message)
    if http is None and _BLOCKED.search(message):
        return Ending(status=Status.REFUSAL, message=message)
    status = Status.PROVIDER_ERROR if _NO_ANSWER.search(message) else Status.AGENT_ERROR
    return Ending(status=status, message=message, http=http)
