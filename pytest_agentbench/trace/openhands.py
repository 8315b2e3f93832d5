"""The transcript of OpenHands: a conversation's state, and a JSON object for each of its events.

Subagents have conversations of their own below it. What they did is in the trace, what they said
is not: that was an answer to their parent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Event, EventKind, Tool
from pytest_agentbench.trace.surface import Native, Surface, arguments, result
from pytest_agentbench.trace.transcript import Ending, Transcript, since, started, total, with_deeds

#: Arguments that the vocabulary has no word for, where checks may look for a text in them.
_SAME = {name: name for name in ("description", "message", "prompt", "subagent_type", "resume")}

SURFACE = Surface(
    runtime="openhands",
    version=1,
    tools={
        "terminal": Native(tool=Tool.EXEC, names={"command": "command"}),
        # One of several things, as its command says: below.
        "file_editor": Native(
            tool=Tool.EDIT,
            names={"path": "path", "file_text": "content", "old_str": "old", "new_str": "new"},
        ),
        "task": Native(tool=Tool.DELEGATE, names=_SAME),
        "delegate": Native(tool=Tool.DELEGATE, names=_SAME),
        "browser_navigate": Native(tool=Tool.BROWSE, names={"url": "url"}),
        "invoke_skill": Native(tool=Tool.SKILL, names={"name": "name"}),
    },
)

Row = Mapping[str, Any]
#: How a run ends that came to the most steps that it may make.
LIMIT = "MaxIterationsReached"
_EDITOR = {"view": Tool.READ, "create": Tool.WRITE}
#: What its last event says of a failure, and what the model answered then.
_HTTP = {
    "AuthenticationError": 401,
    "LLMAuthenticationError": 401,
    "LLMBadRequestError": 400,
    "LLMRateLimitError": 429,
    "NotFoundError": 404,
}
_STATUSES = {
    LIMIT: Status.COMPLETED,
    "LLMContextWindowExceedError": Status.CONTEXT_EXHAUSTED,
    # Whatever the model answered from 500 on, or that there was nobody who answered.
    "InternalServerError": Status.PROVIDER_ERROR,
    "LLMServiceUnavailableError": Status.PROVIDER_ERROR,
    "LLMTimeoutError": Status.PROVIDER_ERROR,
    "LLMNoResponseError": Status.PROVIDER_ERROR,
    "APIConnectionError": Status.PROVIDER_ERROR,
    "APIError": Status.PROVIDER_ERROR,
}


def parse(rows: Sequence[Row], state: Row, subagents: Iterable[Sequence[Row]] = ()) -> Transcript:
    """What the events of a conversation tell, and its state at the end.

    Times count from the first event.
    """
    start = started(rows)
    return Transcript(
        events=with_deeds(_events(rows, start), (_events(part, start) for part in subagents)),
        usage=_usage(state),
        ending=_ending(rows, state),
    )


def _events(rows: Iterable[Row], start: float | None) -> list[Event]:
    events: list[Event] = []
    calls: dict[str, Event] = {}
    for row in rows:
        time = since(row.get("timestamp"), start)
        match row.get("kind"):
            case "MessageEvent" if row.get("source") == "agent":
                events += _said(_text(_dict(row.get("llm_message")).get("content")), time)
            case "ActionEvent":
                call = _call(row, time)
                events += _said(_text(row.get("thought")), time)
                if call.native_name == "finish":
                    events += _said(str(call.native.get("message") or ""), time)
                calls[call.call_id] = call
                events.append(call)
            case "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation":
                known = calls.get(str(row.get("tool_call_id")))
                if known is not None:
                    events.append(_result(known, row, time))
    return events


def _said(text: str, time: float | None) -> list[Event]:
    return [Event(kind=EventKind.ASSISTANT, text=text, time=time)] if text else []


def _call(row: Row, time: float | None) -> Event:
    call = SURFACE.call(
        str(row.get("tool_name")),
        arguments(_dict(row.get("tool_call")).get("arguments")),
        call_id=str(row.get("tool_call_id") or ""),
        time=time,
    )
    if call.native_name == "file_editor":
        tool = _EDITOR.get(str(call.native.get("command")), Tool.EDIT)
        call = dataclasses.replace(call, tool=tool)
    return call


def _result(call: Event, row: Row, time: float | None) -> Event:
    seen = row.get("observation")
    if not isinstance(seen, dict):
        text = str(row.get("error") or row.get("rejection_reason") or "")
        return dataclasses.replace(result(call, text, failed=True, time=time), native=dict(row))
    failed: bool | None = bool(seen.get("is_error"))
    code = seen.get("exit_code")
    if not failed and type(code) is int:
        # Of a command that still runs it is -1.
        failed = None if code == -1 else code != 0
    answer = result(call, _text(seen.get("content")), failed=failed, time=time)
    return dataclasses.replace(answer, native=dict(seen))


def _text(content: object) -> str:
    parts = (
        (part for part in content if isinstance(part, dict)) if isinstance(content, list) else ()
    )
    return "\n".join(
        str(p.get("text") or f"[{p.get('type')}]") for p in parts if p.get("text") != ""
    )


def _usage(state: Row) -> Usage:
    """Sums over the models that it used. The runtime counts cached tokens among the input."""
    used = _dict(_dict(state.get("stats")).get("usage_to_metrics"))
    metrics = [_dict(value) for value in used.values()]
    totals = [t for each in metrics if (t := _dict(each.get("accumulated_token_usage")))]
    if not totals:
        return Usage()

    answers = [each.get("token_usages") for each in metrics]
    read, written = total(totals, "cache_read_tokens"), total(totals, "cache_write_tokens")
    return Usage(
        input_tokens=max(0, total(totals, "prompt_tokens") - read - written),
        output_tokens=total(totals, "completion_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=total(totals, "reasoning_tokens"),
        requests=sum(len(each) for each in answers if isinstance(each, list)),
    )


def _ending(rows: Sequence[Row], state: Row) -> Ending | None:
    """Told by the state; None if the conversation was still going on."""
    match state.get("execution_status"):
        case "finished":
            return Ending(status=Status.COMPLETED)
        case "stuck":
            return Ending(
                status=Status.AGENT_ERROR,
                message="it was stopped by itself for doing the same again and again",
            )
        case "error":
            last = next(
                (r for r in reversed(rows) if r.get("kind") == "ConversationErrorEvent"), {}
            )
            code, detail = str(last.get("code") or ""), str(last.get("detail") or "")[:2000]
            status = _STATUSES.get(code, Status.AGENT_ERROR)
            message = "" if status is Status.COMPLETED else detail
            return Ending(status=status, message=message, http=_HTTP.get(code))
    return None


def reached_limit(rows: Sequence[Row]) -> bool:
    """Whether the conversation ended at the most steps that it may make."""
    return any(row.get("code") == LIMIT for row in rows[-1:])


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
