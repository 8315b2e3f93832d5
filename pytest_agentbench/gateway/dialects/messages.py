"""Anthropic Messages: content is a list of blocks, and a stream tells how each one grows."""

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
from pytest_agentbench.gateway.dialects.errors import Kind

_ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}
_TYPES: Mapping[Kind, str] = {
    Kind.CONTEXT: "invalid_request_error",
    Kind.QUOTA: "billing_error",
    Kind.RATE: "rate_limit_error",
    Kind.AUTH: "authentication_error",
    Kind.PERMISSION: "permission_error",
    Kind.MISSING: "not_found_error",
    Kind.LARGE: "request_too_large",
    Kind.TIMEOUT: "timeout_error",
    Kind.OVERLOADED: "overloaded_error",
    Kind.INVALID: "invalid_request_error",
    Kind.SERVER: "api_error",
}
#: By what clients know kinds whose type says too little.
_PHRASES: Mapping[Kind, str] = {
    Kind.CONTEXT: "prompt is too long",
    Kind.QUOTA: "Your credit balance is too low",
}


class Messages:
    """POST …/v1/messages."""

    name = "messages"

    def matches(self, path: str) -> bool:
        return path.endswith("/v1/messages")

    def request(self, path: str, body: Mapping[str, Any]) -> ChatRequest:
        said = parts.objects(body, "messages")
        system = parts.text(body.get("system"))
        choice = body.get("tool_choice")
        alone = isinstance(choice, Mapping) and choice.get("disable_parallel_tool_use") is True
        tools = parts.objects(body, "tools", needed=False)
        return ChatRequest(
            model=str(body.get("model", "")),
            messages=(
                *(Message(role="system", text=text) for text in [system] if text),
                *(message for each in said for message in _messages(each)),
            ),
            tools=tuple(_offers(tools, _found(said))),
            stream=bool(body.get("stream")),
            parallel=not alone,
        )

    def reply(self, request: ChatRequest, reply: ChatReply) -> dict[str, Any]:
        details = {"type": "refusal", "category": None, "explanation": reply.refusal}
        return {
            "id": f"msg_{parts.reply_id(request, reply)}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": _blocks(reply),
            "stop_reason": _stop(reply),
            "stop_sequence": None,
            "stop_details": details if reply.refusal else None,
            "usage": _usage(reply.usage),
        }

    def stream(self, request: ChatRequest, reply: ChatReply) -> Sequence[bytes]:
        whole = self.reply(request, reply)
        ending = {key: whole[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
        so_far = whole["usage"] | {"output_tokens": min(1, whole["usage"]["output_tokens"])}
        begun = {**whole, **dict.fromkeys(ending), "content": [], "usage": so_far}
        pieces = [_event("message_start", message=begun), _event("ping")]
        for index, block in enumerate(whole["content"]):
            key, delta, said = _growth(block)
            empty = block | {key: {} if key == "input" else ""}
            pieces.append(_event("content_block_start", index=index, content_block=empty))
            for half in parts.halves(said):
                piece = {"type": delta, _DELTAS[delta]: half}
                pieces.append(_event("content_block_delta", index=index, delta=piece))
            pieces.append(_event("content_block_stop", index=index))
        pieces.append(_event("message_delta", delta=ending, usage=whole["usage"]))
        return [*pieces, _event("message_stop")]

    def error(self, status: int, message: str, code: str = "") -> dict[str, Any]:
        kind = errors.kind_of(status, code)
        if kind in _PHRASES:
            message = errors.saying(_PHRASES[kind], message)
        return {"type": "error", "error": {"type": _TYPES[kind], "message": message}}

    def stream_error(self, status: int, message: str, code: str = "") -> bytes:
        """The event with which a stream that has begun ends in an error."""
        return sse.event(self.error(status, message, code), "error")

    def usage(self, data: Mapping[str, Any]) -> Usage | None:
        inner = data.get("message")
        said = (inner if isinstance(inner, Mapping) else data).get("usage")
        if not isinstance(said, Mapping):
            return None
        asked = parts.count(said, "input_tokens")
        read = parts.count(said, "cache_read_input_tokens")
        written = parts.count(said, "cache_creation_input_tokens")
        if data.get("type") == "message_delta":
            # There compatible servers write 0 for what they have said before.
            asked, read, written = asked or None, read or None, written or None
        return Usage(
            input_tokens=asked,
            output_tokens=parts.count(said, "output_tokens"),
            cache_read_tokens=read,
            cache_write_tokens=written,
            reasoning_tokens=parts.count(said, "output_tokens_details", "thinking_tokens"),
        )

    def key_headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key}


def counts_tokens(path: str) -> bool:
    """Whether a POST to ``path`` asks for the size of a request, and for no answer to it."""
    return path.endswith("/v1/messages/count_tokens")


def token_count(tokens: int) -> dict[str, Any]:
    """The answer to the question for the size of a request."""
    return {"input_tokens": tokens}


_DELTAS: Mapping[str, str] = {"text_delta": "text", "input_json_delta": "partial_json"}


def _growth(block: Mapping[str, Any]) -> tuple[str, str, str]:
    """What of a block grows, the type of the deltas in which it does, and what they add up to."""
    if block["type"] == "tool_use":
        return "input", "input_json_delta", parts.json_of(block["input"])
    return "text", "text_delta", block["text"]


def _event(name: str, **data: Any) -> bytes:
    return sse.event({"type": name, **data}, name)


def _blocks(reply: ChatReply) -> list[dict[str, Any]]:
    texts = [{"type": "text", "text": text} for text in (reply.text, reply.refusal) if text]
    return texts + [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.args)}
        for call in reply.calls
    ]


def _stop(reply: ChatReply) -> str:
    if reply.refusal:
        return "refusal"
    return "tool_use" if reply.calls else "end_turn"


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens or 0,
        "cache_creation_input_tokens": usage.cache_write_tokens or 0,
        "cache_read_input_tokens": usage.cache_read_tokens or 0,
        "output_tokens": usage.output_tokens or 0,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens or 0},
    }


def _content(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    said = data.get("content")
    if isinstance(said, str):
        return [{"type": "text", "text": said}]
    return parts.objects(data, "content")


def _messages(data: Mapping[str, Any]) -> Iterator[Message]:
    """The results in a user's message, each a message of its own, and what else it says."""
    role = _ROLES.get(str(data.get("role")))
    if role is None:
        raise RequestError(f"there is no role {data.get('role')!r}")
    texts: list[Any] = []
    calls: list[ToolCall] = []
    results = 0
    for block in _content(data):
        match block.get("type"):
            case "text":
                texts.append(block)
            case "tool_use":
                number, name = str(block.get("id") or ""), str(block.get("name") or "")
                args = parts.arguments(block.get("input"))
                calls.append(ToolCall(id=number, name=name, args=args))
            case "tool_result":
                results += 1
                yield Message(
                    role="tool",
                    text=parts.text(block.get("content")),
                    call_id=str(block.get("tool_use_id") or ""),
                    failed=bool(block.get("is_error")),
                )
    if texts or calls or not results:
        yield Message(role=role, text=parts.text(texts), calls=tuple(calls))


def _found(messages: list[Mapping[str, Any]]) -> frozenset[str]:
    """Names of the tools that a search for tools has found."""
    inner = [
        part
        for message in messages
        if isinstance(blocks := message.get("content"), list)
        for block in blocks
        if block.get("type") == "tool_result" and isinstance(found := block.get("content"), list)
        for part in found
    ]
    return frozenset(
        str(part.get("tool_name"))
        for part in inner
        if isinstance(part, Mapping) and part.get("type") == "tool_reference"
    )


def _offers(tools: list[Mapping[str, Any]], found: frozenset[str]) -> Iterator[ToolOffer]:
    """Tools that a client executes itself and describes, without those that are to be found."""
    for tool in tools:
        deferred = tool.get("defer_loading") is True and tool.get("name") not in found
        if "input_schema" in tool and not deferred:
            yield parts.offer(tool, "input_schema")
