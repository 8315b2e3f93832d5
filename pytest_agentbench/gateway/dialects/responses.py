"""OpenAI Responses: input and output are lists of items, and a stream tells how each one grows.

The gateway keeps no conversations: what ``previous_response_id`` stands for is not seen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.gateway import sse
from pytest_agentbench.gateway.chat import (
    ChatReply,
    ChatRequest,
    Message,
    RequestError,
    Role,
    ToolCall,
    ToolOffer,
)
from pytest_agentbench.gateway.dialects import errors, parts

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
#: Between the names of a namespace and of a tool in it; no name of a function has it.
_INSIDE = "::"
#: Of each type of call, where its arguments stand, and what its events are called.
_CALLS: Mapping[str, tuple[str, str]] = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
}


class Responses:
    """POST …/responses. A tool ``t`` in a namespace ``n`` is called ``n::t``."""

    name = "responses"

    def matches(self, path: str) -> bool:
        return path.endswith("/responses")

    def request(self, path: str, body: Mapping[str, Any]) -> ChatRequest:
        items = _items(body.get("input"))
        system = parts.text(body.get("instructions"))
        lists = [parts.objects(each, "tools", needed=False) for each in (body, *items)]
        return ChatRequest(
            model=str(body.get("model", "")),
            messages=(
                *(Message(role="system", text=text) for text in [system] if text),
                *parts.merged([message for item in items for message in _messages(item)]),
            ),
            tools=tuple(offer for tools in lists for offer in _offers(tools)),
            stream=bool(body.get("stream")),
            parallel=body.get("parallel_tool_calls") is not False,
        )

    def reply(self, request: ChatRequest, reply: ChatReply) -> dict[str, Any]:
        return _response(request, reply, "completed", _output(request, reply))

    def stream(self, request: ChatRequest, reply: ChatReply) -> Sequence[bytes]:
        begun = _response(request, reply, "in_progress", [])
        whole = self.reply(request, reply)
        events: list[tuple[str, dict[str, Any]]] = [
            ("response.created", {"response": begun}),
            ("response.in_progress", {"response": begun}),
        ]
        for number, item in enumerate(whole["output"]):
            place: dict[str, Any] = {"output_index": number}
            empty = {**item, "status": "in_progress", **_emptied(item)}
            events.append(("response.output_item.added", {**place, "item": empty}))
            events += _growth(item, {"item_id": item["id"], **place})
            events.append(("response.output_item.done", {**place, "item": item}))
        events.append(("response.completed", {"response": whole}))
        return [
            sse.event({"type": name, "sequence_number": number, **data}, name)
            for number, (name, data) in enumerate(events)
        ]

    def error(self, status: int, message: str, code: str = "") -> dict[str, Any]:
        return {"error": errors.openai(status, message, code)}

    def stream_error(self, status: int, message: str, code: str = "") -> bytes:
        """The event with which a stream ends in an error, whether it has begun or not."""
        said = errors.openai(status, message, code)
        fault = {"code": said["code"] or said["type"], "message": said["message"]}
        response = {"id": "", "object": "response", "status": "failed", "error": fault}
        return sse.event({"type": "response.failed", "response": response}, "response.failed")

    def usage(self, data: Mapping[str, Any]) -> Usage | None:
        inner = data.get("response")
        said = (inner if isinstance(inner, Mapping) else data).get("usage")
        if not isinstance(said, Mapping):
            return None
        cached = parts.count(said, "input_tokens_details", "cached_tokens")
        written = parts.count(said, "input_tokens_details", "cache_write_tokens")
        return Usage(
            input_tokens=parts.fresh(parts.count(said, "input_tokens"), cached, written),
            output_tokens=parts.count(said, "output_tokens"),
            cache_read_tokens=cached,
            cache_write_tokens=written,
            reasoning_tokens=parts.count(said, "output_tokens_details", "reasoning_tokens"),
        )

    def key_headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}


def _items(said: Any) -> list[Mapping[str, Any]]:
    if isinstance(said, str):
        return [{"role": "user", "content": said}]
    return parts.objects({"input": said}, "input", needed=False)


def _messages(item: Mapping[str, Any]) -> Iterator[Message]:
    """The message that an item is; reasoning and the like are none."""
    kind = str(item.get("type") or "message")
    call_id = str(item.get("call_id") or "")
    if kind == "message":
        role = _ROLES.get(str(item.get("role")))
        if role is None:
            raise RequestError(f"there is no role {item.get('role')!r}")
        yield Message(role=role, text=parts.text(item.get("content")))
    elif kind in _CALLS:
        said = item.get(_CALLS[kind][0])
        args = {"input": str(said or "")} if kind != "function_call" else parts.arguments(said)
        name = _INSIDE.join(filter(None, map(_word, (item.get("namespace"), item.get("name")))))
        yield Message(role="assistant", calls=(ToolCall(id=call_id, name=name, args=args),))
    elif call_id and "output" in item:
        yield Message(role="tool", text=parts.text(item["output"]), call_id=call_id)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _offers(tools: list[Mapping[str, Any]], space: str = "") -> Iterator[ToolOffer]:
    """Tools that a client executes itself; a provider's own are no offer to a script."""
    for tool in tools:
        match tool.get("type"):
            case "function" | "custom" as kind:
                made = parts.offer(tool, "parameters") if kind == "function" else None
                made = made or parts.freeform(tool)
                yield dataclasses.replace(made, name=space + made.name)
            case "namespace" if not space:
                yield from _offers(parts.objects(tool, "tools"), f"{tool.get('name')}{_INSIDE}")


def _response(
    request: ChatRequest, reply: ChatReply, status: str, output: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "id": f"resp_{parts.reply_id(request, reply)}",
        "object": "response",
        "created_at": 0,
        "model": request.model,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "output": output,
        "parallel_tool_calls": request.parallel,
        "tool_choice": "auto",
        "tools": [],
        "usage": _usage(reply.usage) if status == "completed" else None,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    cached, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    asked = (usage.input_tokens or 0) + cached + written
    out = usage.output_tokens or 0
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "output_tokens": out,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": asked + out,
    }


def _output(request: ChatRequest, reply: ChatReply) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    if reply.text or not (reply.refusal or reply.calls):
        content.append({"type": "output_text", "text": reply.text, "annotations": []})
    if reply.refusal:
        content.append({"type": "refusal", "refusal": reply.refusal})
    number, freeforms = parts.reply_id(request, reply), parts.freeforms(request)
    items: list[dict[str, Any]] = []
    if content:
        message = {"id": f"msg_{number}", "type": "message", "status": "completed"}
        items.append({**message, "role": "assistant", "content": content})
    for place, call in enumerate(reply.calls):
        items.append(_call(call, f"{number}_{place}", call.name in freeforms))
    return items


def _call(call: ToolCall, number: str, freeform: bool) -> dict[str, Any]:
    space, _, name = call.name.rpartition(_INSIDE)
    known = {"call_id": call.id, "name": name, "status": "completed"}
    if space:
        known["namespace"] = space
    if freeform:
        kind, said, mark = "custom_tool_call", parts.input_of(call), "ctc"
    else:
        kind, said, mark = "function_call", parts.json_of(call.args), "fc"
    return {"id": f"{mark}_{number}", "type": kind, **known, _CALLS[kind][0]: said}


def _emptied(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": []} if item["type"] == "message" else {_CALLS[item["type"]][0]: ""}


def _growth(item: Mapping[str, Any], place: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events between the beginning of an item and its end."""
    if item["type"] in _CALLS:
        key, events = _CALLS[item["type"]]
        for half in parts.halves(item[key]):
            yield f"{events}.delta", {**place, "delta": half}
        yield f"{events}.done", {**place, key: item[key]}
        return
    for number, part in enumerate(item["content"]):
        here = {**place, "content_index": number}
        key = "refusal" if part["type"] == "refusal" else "text"
        events = f"response.{'refusal' if key == 'refusal' else 'output_text'}"
        yield "response.content_part.added", {**here, "part": {**part, key: ""}}
        for half in parts.halves(part[key]):
            yield f"{events}.delta", {**here, "delta": half}
        yield f"{events}.done", {**here, key: part[key]}
        yield "response.content_part.done", {**here, "part": part}
