"""OpenAI chat completions, and what servers that are compatible with it add."""

from __future__ import annotations

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
    "tool": "tool",
    "function": "tool",
}
#: Where the arguments stand in a call of each type.
_ARGUMENTS: Mapping[str, str] = {"function": "arguments", "custom": "input"}


class ChatCompletions:
    """POST …/chat/completions."""

    name = "chat"

    def matches(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def request(self, path: str, body: Mapping[str, Any]) -> ChatRequest:
        return ChatRequest(
            model=str(body.get("model", "")),
            messages=tuple(map(_message, parts.objects(body, "messages"))),
            tools=tuple(_offers(parts.objects(body, "tools", needed=False))),
            stream=bool(body.get("stream")),
            parallel=body.get("parallel_tool_calls") is not False,
        )

    def reply(self, request: ChatRequest, reply: ChatReply) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.refusal:
            message["refusal"] = reply.refusal
        if reply.calls:
            freeforms = parts.freeforms(request)
            message["tool_calls"] = [_call(call, call.name in freeforms) for call in reply.calls]
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
        return {
            **_head(request, reply, "chat.completion"),
            "choices": [choice],
            "usage": _usage(reply.usage),
        }

    def stream(self, request: ChatRequest, reply: ChatReply) -> Sequence[bytes]:
        head = _head(request, reply, "chat.completion.chunk")
        freeforms = parts.freeforms(request)

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return sse.event({**head, "choices": [choice], "usage": None})

        pieces = [chunk({"role": "assistant", "content": ""})]
        pieces += [chunk({"content": half}) for half in parts.halves(reply.text)]
        if reply.refusal:
            pieces.append(chunk({"refusal": reply.refusal}))
        for number, call in enumerate(reply.calls):
            whole = {"index": number, **_call(call, call.name in freeforms)}
            form = whole["type"]
            key = _ARGUMENTS[form]
            pieces.append(chunk({"tool_calls": [whole | {form: {"name": call.name, key: ""}}]}))
            for half in parts.halves(whole[form][key]):
                pieces.append(chunk({"tool_calls": [{"index": number, form: {key: half}}]}))
        pieces.append(chunk({}, _finish(reply)))
        pieces.append(sse.event({**head, "choices": [], "usage": _usage(reply.usage)}))
        return [*pieces, sse.event("[DONE]")]

    def error(self, status: int, message: str, code: str = "") -> dict[str, Any]:
        return {"error": errors.openai(status, message, code)}

    def stream_error(self, status: int, message: str, code: str = "") -> bytes:
        """The event with which a stream that has begun ends in an error."""
        return sse.event(self.error(status, message, code))

    def usage(self, data: Mapping[str, Any]) -> Usage | None:
        said = data.get("usage")
        if not isinstance(said, Mapping):
            return None
        cached = parts.count(said, "prompt_tokens_details", "cached_tokens")
        if cached is None:
            cached = parts.count(said, "prompt_cache_hit_tokens")
        written = parts.count(said, "prompt_tokens_details", "cache_write_tokens")
        return Usage(
            input_tokens=parts.fresh(parts.count(said, "prompt_tokens"), cached, written),
            output_tokens=parts.count(said, "completion_tokens"),
            cache_read_tokens=cached,
            cache_write_tokens=written,
            reasoning_tokens=parts.count(said, "completion_tokens_details", "reasoning_tokens"),
        )

    def key_headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}


def _head(request: ChatRequest, reply: ChatReply, kind: str) -> dict[str, Any]:
    number = f"chatcmpl-{parts.reply_id(request, reply)}"
    return {"id": number, "object": kind, "created": 0, "model": request.model}


def _finish(reply: ChatReply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _usage(usage: Usage) -> dict[str, Any]:
    cached, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    asked = (usage.input_tokens or 0) + cached + written
    out = usage.output_tokens or 0
    return {
        "prompt_tokens": asked,
        "completion_tokens": out,
        "total_tokens": asked + out,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
    }


def _call(call: ToolCall, freeform: bool) -> dict[str, Any]:
    form = "custom" if freeform else "function"
    said = parts.input_of(call) if freeform else parts.json_of(call.args)
    return {"id": call.id, "type": form, form: {"name": call.name, _ARGUMENTS[form]: said}}


def _message(data: Mapping[str, Any]) -> Message:
    role = _ROLES.get(str(data.get("role")))
    if role is None:
        raise RequestError(f"there is no role {data.get('role')!r}")
    return Message(
        role=role,
        text=parts.text(data.get("content")),
        calls=tuple(map(_called, parts.objects(data, "tool_calls", needed=False))),
        call_id=str(data.get("tool_call_id") or ""),
    )


def _called(data: Mapping[str, Any]) -> ToolCall:
    freeform = data.get("type") == "custom"
    made = parts.object_in(data, "custom" if freeform else "function")
    said: Mapping[str, Any]
    if freeform:
        said = {"input": str(made.get("input") or "")}
    else:
        said = parts.arguments(made.get("arguments"))
    return ToolCall(id=str(data.get("id") or ""), name=str(made.get("name") or ""), args=said)


def _offers(tools: list[Mapping[str, Any]]) -> Iterator[ToolOffer]:
    for tool in tools:
        match tool.get("type", "function"):
            case "function":
                yield parts.offer(parts.object_in(tool, "function"), "parameters")
            case "custom":
                yield parts.freeform(parts.object_in(tool, "custom"))
