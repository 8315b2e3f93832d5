"""What the Agent Client Protocol tells of a turn: the messages that went between agent and client.

The protocol knows kinds of tools, and leaves it to the agent what it says of a call beside: a title
for people, places, changes, its raw input. What is canonical is taken from where it stands.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Event, EventKind, Tool
from pytest_agentbench.trace.surface import Native, Surface, result
from pytest_agentbench.trace.transcript import Ending, Transcript

_PATHS = ("path", "filePath", "file_path", "absolute_path", "abs_path", "notebook_path")
_OLDS = ("old", "old_string", "oldString", "old_str", "oldText")
_NEWS = ("new", "new_string", "newString", "new_str", "newText")
_PATH = dict.fromkeys(_PATHS, "path")
_EDIT = {**_PATH, **dict.fromkeys(_OLDS, "old"), **dict.fromkeys(_NEWS, "new")}
_FIND = {**_PATH, "pattern": "query", "query": "query", "regex": "query"}
#: Arguments that the vocabulary has no word for, where checks may look for a text in them.
_SAME = {name: name for name in ("name", "skill", "prompt", "description", "message", "fact")}

#: By the kinds of the protocol, and by one of ours: a ``write`` is an edit that makes a file.
SURFACE = Surface(
    runtime="acp",
    version=1,
    tools={
        "read": Native(tool=Tool.READ, names=_PATH),
        "edit": Native(tool=Tool.EDIT, names=_EDIT),
        "write": Native(tool=Tool.WRITE, names={**_PATH, "content": "content"}),
        "execute": Native(tool=Tool.EXEC, names={"command": "command", "cmd": "command"}),
        "search": Native(tool=Tool.SEARCH, names=_FIND),
        "fetch": Native(tool=Tool.BROWSE, names={"url": "url"}),
        "delete": Native(tool=Tool.OTHER, names=_PATH),
        "move": Native(tool=Tool.OTHER, names=_PATH),
        "think": Native(tool=Tool.OTHER, names=_SAME),
        "other": Native(tool=Tool.OTHER, names=_SAME),
    },
)

Row = Mapping[str, Any]
_SHELLS = re.compile(r"(?:.*/)?(?:ba|da|z|k|fi)?sh$")
_WRITES = re.compile(r"(?:writ|creat)(?:e|ing)\b", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s\"'<>`]+")
_TOO_LONG = re.compile(r"context (?:length|window)|too long|token count", re.IGNORECASE)


def parse(rows: Sequence[Row]) -> Transcript:
    """What the messages tell. Times count from the start of the agent.

    Usage is unknown: of what agents say of it, some is of the last answer alone.
    """
    reader = _Reader(_terminals(rows))
    for row in rows:
        reader.read(row)
    return Transcript(events=tuple(reader.events()), ending=_ending(rows))


def stop_reason(rows: Sequence[Row]) -> str:
    """Why the turn ended, in the protocol's words; empty if it did not."""
    answered = _of(_answer(rows), "result")
    return str(answered.get("stopReason") or "")


@dataclass(slots=True)
class _Call:
    """A call, with the latest that was said of it; what was never taken back stays."""

    time: float | None
    said: dict[str, Any]
    #: The first title: later ones may tell of the outcome.
    title: str
    #: The latest change of a file: what a call shows at its end need not have it any more.
    diff: Row = field(default_factory=dict)
    ended: float | None = None


@dataclass(slots=True)
class _Reader:
    terminals: Mapping[str, Row]
    calls: dict[str, _Call] = field(default_factory=dict)
    #: Texts as they are, and ids of calls where one begins and where one ends.
    places: list[Event | tuple[str, bool]] = field(default_factory=list)
    talking: bool = False

    def read(self, row: Row) -> None:
        if row.get("from") != "agent":
            return
        message, time = _of(row, "message"), _seconds(row.get("time"))
        params = _of(message, "params")
        if message.get("method") == "session/request_permission":
            self._call(_of(params, "toolCall"), time)
        if message.get("method") != "session/update":
            return
        update = _of(params, "update")
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                self._talk(_block(update.get("content")), time)
                return
            case "tool_call" | "tool_call_update":
                self._call(update, time)
        self.talking = False

    def events(self) -> Iterator[Event]:
        canonical = {name: _canonical(name, call) for name, call in self.calls.items()}
        for place in self.places:
            if isinstance(place, Event):
                yield place
                continue
            name, ends = place
            if ends:
                yield self._result(canonical[name], self.calls[name])
            else:
                yield canonical[name]

    def _talk(self, text: str, time: float | None) -> None:
        last = self.places[-1] if self.places else None
        if self.talking and isinstance(last, Event):
            self.places[-1] = dataclasses.replace(last, text=last.text + text)
        elif text:
            self.places.append(Event(kind=EventKind.ASSISTANT, text=text, time=time))
            self.talking = True

    def _call(self, said: Row, time: float | None) -> None:
        name = str(said.get("toolCallId") or "")
        call = self.calls.get(name)
        if call is None:
            self.places.append((name, False))
            call = self.calls[name] = _Call(time, {}, str(said.get("title") or ""))
        call.said |= {k: v for k, v in said.items() if v or (k == "content" and v == [])}
        diffs = [each for each in _list(said, "content") if each.get("type") == "diff"]
        call.diff = diffs[-1] if diffs else call.diff
        if call.ended is None and said.get("status") in ("completed", "failed"):
            call.ended = time
            self.places.append((name, True))

    def _result(self, event: Event, call: _Call) -> Event:
        output = call.said.get("rawOutput")
        raw = output if isinstance(output, dict) else {}
        texts = [_block(each.get("content")) for each in _list(call.said, "content")]
        ended: dict[str, Any] = {}
        for each in _list(call.said, "content"):
            if each.get("type") == "terminal":
                ended = {**self.terminals.get(str(each.get("terminalId")), {})}
                texts.append(str(ended.get("output") or ""))
        text = "\n".join(filter(None, texts)) or _printed(output)
        codes = (raw.get("exit_code"), _of(raw, "metadata").get("exit"), ended.get("exitCode"))
        code = next((each for each in codes if type(each) is int), None)
        failed: bool | None = call.said.get("status") == "failed"
        if not failed and event.tool == Tool.EXEC:
            # That it was completed need not mean that it was a success.
            failed = None if code is None else code != 0
        answer = result(event, text, failed=failed, time=call.ended)
        return dataclasses.replace(answer, native=dict(call.said))


def _canonical(name: str, call: _Call) -> Event:
    said, given = call.said, call.said.get("rawInput")
    args = dict(given) if isinstance(given, dict) else {}
    kind = str(said.get("kind") or "other")
    place = next((each.get("path") for each in _list(said, "locations")), None)
    command = args.get("command", args.get("cmd"))
    if kind in ("read", "search", "execute", "other") and command is not None:
        # Some agents call a command what they take it to do.
        kind, args = "execute", {"command": _line(command)}
    elif kind == "execute" and not args and call.title:
        args = {"command": call.title}
    elif kind == "search" and not args and call.title:
        args = {"query": call.title.strip("'\"`")}
    elif kind == "fetch" and "url" not in args and (found := _URL.search(str((call.title, args)))):
        args["url"] = found[0]
    elif kind == "edit":
        kind, args = _change(call.title, args, call.diff)
    if kind in ("read", "edit", "write", "delete", "move") and not _PATH.keys() & args.keys():
        args |= {"path": path} if (path := call.diff.get("path") or place) else {}
    event = SURFACE.call(kind, args, call_id=name, time=call.time)
    return dataclasses.replace(
        event, native_name=str(said.get("name") or said.get("kind") or "other"), native=dict(said)
    )


def _change(title: str, args: dict[str, Any], diff: Row) -> tuple[str, dict[str, Any]]:
    """The kind and arguments of an edit: some make a file, and some put a text for another."""
    if diff and not args.keys() & {*_OLDS, *_NEWS}:
        args |= {"oldText": diff.get("oldText") or "", "newText": diff.get("newText") or ""}
        if not args["oldText"] or _WRITES.match(title):
            args["content"] = args["newText"]
    writes = "content" in args and (_WRITES.match(title) or not args.get("oldText"))
    return ("write" if writes else "edit"), args


def _line(command: object) -> str:
    """A command as a line: of a shell's words, the one that it takes for a line."""
    if not isinstance(command, list):
        return str(command)
    words = [str(word) for word in command]
    if len(words) == 3 and _SHELLS.match(words[0]) and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words)


def _printed(output: object) -> str:
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(filter(None, map(_block, output)))
    raw = output if isinstance(output, dict) else {}
    keys = ("formatted_output", "aggregated_output", "output", "stdout", "error")
    return next((str(raw[key]) for key in keys if raw.get(key)), "")


def _terminals(rows: Sequence[Row]) -> Mapping[str, Row]:
    """What the client told of its terminals, by their ids."""
    asked: dict[str, str] = {}
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        message = _of(row, "message")
        if row.get("from") == "agent" and str(message.get("method")).startswith("terminal/"):
            asked[str(message.get("id"))] = str(_of(message, "params").get("terminalId") or "")
        elif row.get("from") == "client" and "result" in message:
            name, told = asked.get(str(message.get("id"))), _of(message, "result")
            if name:
                known = found.setdefault(name, {})
                known |= {k: told[k] for k in ("output", "exitCode") if told.get(k) is not None}
                known |= {k: v for k, v in _of(told, "exitStatus").items() if v is not None}
    return found


def _ending(rows: Sequence[Row]) -> Ending | None:
    """Told by the answer to the prompt; None if there is none."""
    answer = _answer(rows)
    error = _of(answer, "error")
    if error:
        data = error.get("data")
        message = f"{error.get('message') or ''}{f': {data}' if data else ''}"[:2000]
        status = Status.CONTEXT_EXHAUSTED if _TOO_LONG.search(message) else Status.AGENT_ERROR
        return Ending(status=status, message=message)
    match stop_reason(rows):
        case "":
            return None
        case "end_turn" | "max_turn_requests":
            return Ending(status=Status.COMPLETED)
        case "refusal":
            return Ending(status=Status.REFUSAL, message="the agent ended the turn with a refusal")
        case reason:
            message = f"the agent ended the turn with the reason {reason}"
            return Ending(status=Status.AGENT_ERROR, message=message)


def _answer(rows: Sequence[Row]) -> Row:
    """The agent's answer to the prompt, else to the last request that came before one."""
    asked = [
        message
        for row in rows
        if row.get("from") == "client" and "method" in (message := _of(row, "message"))
    ]
    if not asked:
        return {}
    for row in rows:
        message = _of(row, "message")
        answers = row.get("from") == "agent" and "method" not in message
        if answers and message.get("id") == asked[-1].get("id"):
            return message
    return {}


def _block(content: object) -> str:
    """The text of a block of content; of other blocks, what they are."""
    if not isinstance(content, dict):
        return ""
    if content.get("type") == "text":
        return str(content.get("text") or "")
    return f"[{content.get('type')}]"


def _of(row: Row, name: str) -> Row:
    value = row.get(name)
    return value if isinstance(value, dict) else {}


def _list(row: Row, name: str) -> list[Row]:
    value = row.get(name)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _seconds(value: object) -> float | None:
    return max(0.0, float(value)) if isinstance(value, (int, float)) else None
