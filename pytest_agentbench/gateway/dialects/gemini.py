"""Gemini generateContent: contents of parts; a stream is a row of whole, partial answers.

Calls have an ``id`` in our replies, and clients may give it back with the result, or not: older
ones know calls by their name and order alone. The ``call_id`` of a call without an id is
``gemini-call-N``, where N counts the calls of the conversation from 1; a result without an id, or
with one that no call has, belongs to the first call of its name that has no result yet.
"""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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

_PATH = re.compile(r".*/models/(?P<model>.+):(?P<stream>streamG|g)enerateContent")
_ROLES: Mapping[str, Role] = {"user": "user", "model": "assistant", "function": "user"}
_STATUSES: Mapping[Kind, str] = {
    Kind.CONTEXT: "INVALID_ARGUMENT",
    Kind.QUOTA: "RESOURCE_EXHAUSTED",
    Kind.RATE: "RESOURCE_EXHAUSTED",
    Kind.AUTH: "UNAUTHENTICATED",
    Kind.PERMISSION: "PERMISSION_DENIED",
    Kind.MISSING: "NOT_FOUND",
    Kind.LARGE: "INVALID_ARGUMENT",
    Kind.TIMEOUT: "DEADLINE_EXCEEDED",
    Kind.OVERLOADED: "UNAVAILABLE",
    Kind.INVALID: "INVALID_ARGUMENT",
    Kind.SERVER: "INTERNAL",
}
_TOO_LONG = "The input token count exceeds the maximum number of tokens allowed"
#: By this clients know a quota that waiting for a minute does not refill.
_QUOTA: Mapping[str, Any] = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}],
}


class Gemini:
    """POST …/models/MODEL:generateContent, or :streamGenerateContent, with ``alt=sse`` or not."""

    name = "gemini"

    def matches(self, path: str) -> bool:
        return _PATH.fullmatch(path) is not None

    def request(self, path: str, body: Mapping[str, Any]) -> ChatRequest:
        found = _PATH.fullmatch(path)
        if found is None:
            raise RequestError(f"{path} names no model")
        system = parts.text(body.get("systemInstruction") or body.get("system_instruction"))
        thread = _Thread()
        for content in parts.objects(body, "contents"):
            thread.add(content)
        tools = parts.objects(body, "tools", needed=False)
        return ChatRequest(
            model=urllib.parse.unquote(found["model"]),
            messages=(
                *(Message(role="system", text=text) for text in [system] if text),
                *thread.messages,
            ),
            tools=tuple(offer for tool in tools for offer in _offers(tool)),
            stream=found["stream"] == "streamG",
        )

    def reply(self, request: ChatRequest, reply: ChatReply) -> dict[str, Any]:
        texts = [{"text": text} for text in (reply.text, reply.refusal) if text]
        calls = [
            {"functionCall": {"id": call.id, "name": call.name, "args": dict(call.args)}}
            for call in reply.calls
        ]
        return _answer(request, reply, [*texts, *calls] or [{"text": ""}], _finish(reply))

    def stream(self, request: ChatRequest, reply: ChatReply) -> Sequence[bytes]:
        whole = self.reply(request, reply)["candidates"][0]["content"]["parts"]
        rows = [[piece] for part in whole for piece in _pieces(part)]
        while len(rows) < 2:
            rows.insert(0, [{"text": ""}])
        ends = [""] * (len(rows) - 1) + [_finish(reply)]
        ended = zip(rows, ends, strict=True)
        return [sse.event(_answer(request, reply, row, end)) for row, end in ended]

    def error(self, status: int, message: str, code: str = "") -> dict[str, Any]:
        kind = errors.kind_of(status, code)
        if kind is Kind.CONTEXT:
            message = errors.saying(_TOO_LONG, message)
        said: dict[str, Any] = {"code": status, "message": message, "status": _STATUSES[kind]}
        if kind is Kind.QUOTA:
            said["details"] = [dict(_QUOTA)]
        return {"error": said}

    def stream_error(self, status: int, message: str, code: str = "") -> bytes:
        """That with which a stream that has begun ends in an error: no event, but bare JSON.

        It must be sent as a piece of its own.
        """
        return json.dumps(self.error(status, message, code)).encode() + b"\n\n"

    def usage(self, data: Mapping[str, Any]) -> Usage | None:
        said = data.get("usageMetadata")
        if not isinstance(said, Mapping):
            return None
        cached = parts.count(said, "cachedContentTokenCount")
        thought = parts.count(said, "thoughtsTokenCount")
        return Usage(
            input_tokens=parts.fresh(
                _sum(said, "promptTokenCount", "toolUsePromptTokenCount"), cached
            ),
            output_tokens=_sum(said, "candidatesTokenCount", "thoughtsTokenCount"),
            cache_read_tokens=cached,
            reasoning_tokens=thought,
        )

    def key_headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}


def counts_tokens(path: str) -> bool:
    """Whether a POST to ``path`` asks for the size of a request, and for no answer to it."""
    return path.endswith(":countTokens")


def token_count(tokens: int) -> dict[str, Any]:
    """The answer to the question for the size of a request."""
    return {"totalTokens": tokens}


def json_array(events: Sequence[bytes]) -> list[bytes]:
    """A stream as it is sent without ``alt=sse``: one JSON array, in as many pieces."""
    bodies = [event.removeprefix(b"data: ").strip() for event in events]
    return [(b",\r\n" if number else b"[") + body for number, body in enumerate(bodies)] + [b"]"]


@dataclass(slots=True)
class _Thread:
    """The messages so far, and the calls that have no result yet."""

    messages: list[Message] = field(default_factory=list)
    open: list[ToolCall] = field(default_factory=list)
    called: int = 0

    def add(self, content: Mapping[str, Any]) -> None:
        role = _ROLES.get(str(content.get("role") or "user"))
        if role is None:
            raise RequestError(f"there is no role {content.get('role')!r}")
        texts: list[str] = []
        calls: list[ToolCall] = []
        results = 0
        for part in parts.objects(content, "parts", needed=False):
            if isinstance(call := part.get("functionCall"), Mapping):
                calls.append(self._call(call))
            elif isinstance(result := part.get("functionResponse"), Mapping):
                results += 1
                self.messages.append(self._result(result))
            elif isinstance(text := part.get("text"), str) and not part.get("thought"):
                texts.append(text)
        if texts or calls or not results:
            # Clients keep the pieces of a streamed text as parts, with nothing between.
            message = Message(role=role, text="".join(texts), calls=tuple(calls))
            self.messages.append(message)

    def _call(self, data: Mapping[str, Any]) -> ToolCall:
        self.called += 1
        call = ToolCall(
            id=str(data.get("id") or f"gemini-call-{self.called}"),
            name=str(data.get("name") or ""),
            args=parts.arguments(data.get("args")),
        )
        self.open.append(call)
        return call

    def _result(self, data: Mapping[str, Any]) -> Message:
        number, name = str(data.get("id") or ""), str(data.get("name") or "")
        same = [call for call in self.open if call.id == number]
        same = same or [call for call in self.open if call.name == name]
        for call in same[:1]:
            self.open.remove(call)
            number = call.id
        text, failed = _response(data.get("response"))
        return Message(role="tool", text=text, call_id=number, failed=failed)


def _response(said: Any) -> tuple[str, bool | None]:
    """The text of a result, and whether the call failed, as far as it says so."""
    if not isinstance(said, Mapping):
        return parts.text(said), None
    for key, failed in (("error", True), ("output", False)):
        if key in said:
            value = said[key]
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            return text, failed
    return json.dumps(said, ensure_ascii=False), None


def _offers(tool: Mapping[str, Any]) -> Iterator[ToolOffer]:
    """The functions that a client executes; a provider's own tools are no offer to a script."""
    for key in ("functionDeclarations", "function_declarations"):
        for declared in parts.objects(tool, key, needed=False):
            if isinstance(declared.get("parametersJsonSchema"), Mapping):
                yield parts.offer(declared, "parametersJsonSchema")
            else:
                schema = _lower(declared.get("parameters"))
                yield parts.offer({**declared, "parameters": schema}, "parameters")


def _lower(schema: Any) -> Any:
    """A schema of Gemini's own kind, whose types are in capitals, as a JSON schema."""
    if isinstance(schema, list):
        return [_lower(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    lower = {key: _lower(value) for key, value in schema.items()}
    kind = lower.get("type")
    return {**lower, "type": kind.lower()} if isinstance(kind, str) else lower


def _answer(
    request: ChatRequest, reply: ChatReply, row: list[dict[str, Any]], finish: str
) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": row}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(reply.usage),
        "modelVersion": request.model,
        "responseId": parts.reply_id(request, reply),
    }


def _finish(reply: ChatReply) -> str:
    return "SAFETY" if reply.refusal else "STOP"


def _pieces(part: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"text": half} for half in parts.halves(part["text"])] if "text" in part else [part]


def _usage(usage: Usage) -> dict[str, Any]:
    cached = usage.cache_read_tokens or 0
    # There is no word for what was written to a cache: it was asked, and is not in it.
    asked = (usage.input_tokens or 0) + (usage.cache_write_tokens or 0) + cached
    thought = usage.reasoning_tokens or 0
    out = max(usage.output_tokens or 0, thought)
    return {
        "promptTokenCount": asked,
        "candidatesTokenCount": out - thought,
        "thoughtsTokenCount": thought,
        "cachedContentTokenCount": cached,
        "totalTokenCount": asked + out,
    }


def _sum(said: Mapping[str, Any], *keys: str) -> int | None:
    known = [count for key in keys if (count := parts.count(said, key)) is not None]
    return sum(known) if known else None
