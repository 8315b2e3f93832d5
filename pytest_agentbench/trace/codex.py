"""The transcript of Codex: JSON lines, called rollout, below ``sessions`` of its home.

Subagents have rollouts of their own beside it. What they did is in the trace, what they said is
not: that was an answer to their parent.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Event, EventKind, Tool
from pytest_agentbench.trace.patch import as_patch, patch_in, patched
from pytest_agentbench.trace.surface import Native, Surface, arguments, as_write, result
from pytest_agentbench.trace.transcript import Ending, Transcript, seconds, since, total, with_deeds

#: Arguments that the vocabulary has no word for, where checks may look for a text in them.
_SAME = {name: name for name in ("message", "objective", "task_name", "agent_type", "id")}


def _patched(args: Mapping[str, Any]) -> dict[str, Any]:
    return patched(str(args.get("input") or args.get("patch") or ""))


SURFACE = Surface(
    runtime="codex",
    version=1,
    tools={
        "exec_command": Native(tool=Tool.EXEC, names={"cmd": "command"}),
        "shell_command": Native(tool=Tool.EXEC, names={"command": "command"}),
        "shell": Native(tool=Tool.EXEC, names={"command": "argv"}),
        "write_stdin": Native(tool=Tool.EXEC, names={"chars": "command"}),
        "apply_patch": Native(tool=Tool.EDIT, more=_patched),
        "view_image": Native(tool=Tool.READ, names={"path": "path"}),
        "web_search": Native(tool=Tool.SEARCH, names={"query": "query"}),
        "spawn_agent": Native(tool=Tool.DELEGATE, names=_SAME),
        "send_input": Native(tool=Tool.DELEGATE, names=_SAME),
        "resume_agent": Native(tool=Tool.DELEGATE, names=_SAME),
        "followup_task": Native(tool=Tool.DELEGATE, names=_SAME),
        "send_message": Native(tool=Tool.DELEGATE, names=_SAME),
        "wait_agent": Native(tool=Tool.DELEGATE),
        "close_agent": Native(tool=Tool.DELEGATE),
        "interrupt_agent": Native(tool=Tool.DELEGATE),
        "list_agents": Native(tool=Tool.DELEGATE),
        "request_user_input": Native(tool=Tool.MESSAGE),
        "request_user_input_async": Native(tool=Tool.MESSAGE),
    },
)

Row = Mapping[str, Any]
_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.MULTILINE)
#: What the runtime answers in place of a tool.
_REFUSED = re.compile(
    r"unsupported (?:custom tool )?call: |failed to parse |[a-z_]+ failed: |unable to |"
    r"(?:[a-z_]+ verification failed|apply_patch handler received)"
)
_STATUSES = {
    "context_window_exceeded": Status.CONTEXT_EXHAUSTED,
    "cyber_policy": Status.REFUSAL,
    "unauthorized": Status.AUTH_ERROR,
    "usage_limit_exceeded": Status.PROVIDER_ERROR,
    "server_overloaded": Status.PROVIDER_ERROR,
    "internal_server_error": Status.PROVIDER_ERROR,
    "http_connection_failed": Status.PROVIDER_ERROR,
    "response_stream_connection_failed": Status.PROVIDER_ERROR,
    "response_stream_disconnected": Status.PROVIDER_ERROR,
    "response_too_many_failed_attempts": Status.PROVIDER_ERROR,
}


def parse(rows: Sequence[Row], subagents: Iterable[Sequence[Row]] = ()) -> Transcript:
    """What the rows of a rollout tell, and those of its subagents. Times count from its first."""
    meta = next((_payload(row) for row in rows if row.get("type") == "session_meta"), {})
    start = seconds(meta.get("timestamp"))
    others = [tuple(part) for part in subagents]
    return Transcript(
        events=with_deeds(
            _Reader(rows, start).events, (_Reader(part, start).events for part in others)
        ),
        usage=_usage(row for part in (rows, *others) for row in part),
        ending=_ending(rows),
    )


def thread(rows: Sequence[Row]) -> str:
    """The id of the thread that a rollout is of; empty if it has none."""
    meta = next((_payload(row) for row in rows if row.get("type") == "session_meta"), {})
    return str(meta.get("id") or "")


@dataclass(slots=True)
class _Reader:
    """Walks the rows once; ``items`` are what the runtime saw itself do, by id."""

    rows: Sequence[Row]
    start: float | None
    events: list[Event] = field(default_factory=list)
    calls: dict[str, Event] = field(default_factory=dict)
    items: dict[str, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        asked = {
            str(payload.get("call_id"))
            for row in self.rows
            if (payload := _payload(row)).get("type") in _CALLS
        }
        for row in self.rows:
            payload, time = _payload(row), since(row.get("timestamp"), self.start)
            match row.get("type"), payload.get("type"):
                case "response_item", "message" if payload.get("role") == "assistant":
                    if text := _text(payload.get("content")):
                        self.events.append(Event(kind=EventKind.ASSISTANT, text=text, time=time))
                case "response_item", "web_search_call":
                    self._web(payload, time)
                case "response_item", kind if kind in _CALLS:
                    self._call(payload, time)
                case "response_item", kind if kind in _OUTPUTS:
                    self._output(payload, time)
                case "event_msg", "item_completed":
                    item = payload.get("item")
                    if isinstance(item, dict):
                        self.items[str(item.get("id"))] = item
                        if str(item.get("id")) not in asked:
                            self._nested(item, payload)

    def _call(self, payload: Row, time: float | None) -> None:
        name, call_id = str(payload.get("name")), str(payload.get("call_id") or "")
        args = _args(payload)
        if payload.get("type") == "custom_tool_call" and name == "exec":
            # A script that calls other tools. They are in the trace; "exec" is the canonical
            # name of another thing.
            name = "functions.exec"
        call = SURFACE.call(name, args, call_id=call_id, time=time)
        if patch := patch_in(str(call.args.get("command") or "")):
            call = dataclasses.replace(call, tool=Tool.EDIT, args=patched(patch))
        call = self.calls[call_id] = as_write(call)
        self.events.append(call)

    def _output(self, payload: Row, time: float | None) -> None:
        call = self.calls.get(str(payload.get("call_id")))
        if call is None:
            return
        text = _text(payload.get("output"))
        failed = _failed(call, text, self.items.get(call.call_id, {}))
        answer = result(call, text, failed=failed, time=time)
        self.events.append(dataclasses.replace(answer, native=dict(payload)))

    def _web(self, payload: Row, time: float | None) -> None:
        """A search that the provider ran itself: its results are not in the transcript."""
        action = payload.get("action")
        args = action if isinstance(action, dict) else {}
        self.events.append(
            SURFACE.call("web_search", args, call_id=str(payload.get("id") or ""), time=time)
        )

    def _nested(self, item: Row, payload: Row) -> None:
        """What a script did, which the model did not ask for by a call of its own."""
        match item.get("type"):
            case "CommandExecution":
                argv = item.get("command")
                words = [str(word) for word in argv] if isinstance(argv, list) else []
                name, args = "exec_command", {"cmd": words[-1] if words else ""}
                text = str(item.get("aggregated_output") or "")
            case "FileChange":
                changes = item.get("changes")
                patch = as_patch(changes if isinstance(changes, dict) else {})
                name, args = "apply_patch", {"input": patch}
                text = str(item.get("stdout") or item.get("stderr") or "")
            case "ImageView":
                name, args = "view_image", {"path": str(item.get("path")).removeprefix("file://")}
                text = ""
            case _:
                return
        began, ended = (
            _at(payload.get(f"{k}_at_ms"), self.start) for k in ("started", "completed")
        )
        call_id = str(item.get("id") or "")
        self._call({"name": name, "call_id": call_id, "arguments": args}, began)
        call = self.events[-1] = dataclasses.replace(self.events[-1], native=dict(item))
        failed = item.get("status") == "failed"
        self.events.append(result(call, text, failed=failed, time=ended))


def _payload(row: Row) -> Row:
    payload = row.get("payload")
    return payload if isinstance(payload, dict) else {}


def _args(payload: Row) -> dict[str, Any]:
    """Arguments of a call: an object, the text of one, or a text that is no object."""
    if "arguments" in payload:
        return arguments(payload["arguments"])
    given = payload.get("input")
    return given if isinstance(given, dict) else {"input": given}


def _text(content: object) -> str:
    """The text of what is a text, or a list of parts with one each."""
    if not isinstance(content, list):
        return str(content or "")
    parts = (part for part in content if isinstance(part, dict))
    return "\n".join(str(p.get("text") or p.get("refusal") or f"[{p.get('type')}]") for p in parts)


def _failed(call: Event, text: str, item: Row) -> bool | None:
    if item.get("status") in ("completed", "failed"):
        # Of a command that ran on, this would tell how it ended long after the answer.
        head = text.partition("\nOutput:\n")[0]
        return None if "Process running with" in head else item["status"] == "failed"
    if call.native_name in ("exec_command", "write_stdin", "shell_command"):
        head = text.partition("\nOutput:\n")[0]
        if code := _EXIT.search(head):
            return code[1] != "0"
        return None if "Process running with" in head else True
    if call.native_name == "functions.exec":
        return {"Script completed": False, "Script failed": True}.get(text.partition("\n")[0])
    if call.native_name == "view_image":
        return text != "[input_image]"
    return True if _REFUSED.match(text) else None


def _at(milliseconds: object, start: float | None) -> float | None:
    if start is None or not isinstance(milliseconds, int):
        return None
    return max(0.0, round(milliseconds / 1000 - start, 3))


def _usage(rows: Iterable[Row]) -> Usage:
    """Sums over the answers. The runtime counts cached tokens among the input."""
    found: dict[str, Row] = {}
    for row in rows:
        usage = _payload(row).get("usage")
        if row.get("type") == "token_usage_record" and isinstance(usage, dict):
            found[str(_payload(row).get("response_id"))] = usage
    answers = list(found.values())
    if not answers:
        return Usage()

    read = total(answers, "cached_input_tokens")
    written = total(answers, "cache_write_input_tokens")
    return Usage(
        input_tokens=max(0, total(answers, "input_tokens") - read - written),
        output_tokens=total(answers, "output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=total(answers, "reasoning_output_tokens"),
        requests=len(answers),
    )


def _ending(rows: Sequence[Row]) -> Ending | None:
    """Told by the end of the last turn; None if that did not end by itself."""
    last = next(
        (
            payload
            for row in reversed(rows)
            if (payload := _payload(row)).get("type") in ("task_complete", "task_started")
        ),
        {},
    )
    if last.get("type") != "task_complete":
        return None
    error = last.get("error")
    if not isinstance(error, dict):
        return Ending(status=Status.COMPLETED)
    message = str(error.get("message") or "")[:2000]
    info = error.get("codex_error_info")
    kind = next(iter(info)) if isinstance(info, dict) and info else str(info)
    detail = info.get(kind) if isinstance(info, dict) else None
    http = detail.get("http_status_code") if isinstance(detail, dict) else None
    status = _STATUSES.get(kind, Status.AGENT_ERROR)
    if "content_filter" in message:
        status = Status.REFUSAL
    elif message.startswith("stream disconnected"):
        status = Status.PROVIDER_ERROR
    return Ending(status=status, message=message, http=http if type(http) is int else None)
