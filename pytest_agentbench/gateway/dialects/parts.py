"""What the dialects have in common: JSON of clients, which may be anything."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pytest_agentbench.gateway.chat import (
    ChatReply,
    ChatRequest,
    Message,
    RequestError,
    ToolCall,
    ToolOffer,
)

#: Where a part of a message keeps its text, or the parts that it consists of.
_TEXTS = ("text", "refusal", "content", "parts")
_DEPTH = 16


def objects(data: Mapping[str, Any], key: str, *, needed: bool = True) -> list[Mapping[str, Any]]:
    """The objects in the list ``data[key]``. Raises ``RequestError`` where it is none."""
    value = data.get(key)
    if value is None and not needed:
        return []
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise RequestError(f"{key} must be a list of objects")
    return value


def object_in(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object ``data[key]``. Raises ``RequestError`` where it is none."""
    value = data.get(key)
    if not isinstance(value, Mapping):
        raise RequestError(f"{key} must be an object")
    return value


def offer(data: Mapping[str, Any], schema_key: str) -> ToolOffer:
    """The tool that ``data`` describes, whose JSON schema is at ``schema_key``."""
    if not isinstance(data.get("name"), str):
        raise RequestError("each tool must have a name")
    found = data.get(schema_key)
    schema = found if isinstance(found, Mapping) else {}
    properties, required = schema.get("properties"), schema.get("required")
    return ToolOffer(
        name=data["name"],
        description=str(data.get("description") or ""),
        parameters=properties if isinstance(properties, Mapping) else {},
        required=tuple(map(str, required)) if isinstance(required, list) else (),
    )


def freeform(data: Mapping[str, Any]) -> ToolOffer:
    """The tool that ``data`` describes, which takes a text: its calls have ``input`` alone."""
    return dataclasses.replace(offer(data, ""), freeform=True)


def text(content: Any, depth: int = _DEPTH) -> str:
    """The text in a message's content: a text, a part, or a list of either."""
    if isinstance(content, str):
        return content
    if not depth:
        return ""
    if isinstance(content, Mapping):
        inner = next(filter(None, map(content.get, _TEXTS)), None)
        return text(inner, depth - 1)
    if isinstance(content, list):
        return "\n".join(filter(None, (text(part, depth - 1) for part in content)))
    return ""


def merged(messages: list[Message]) -> tuple[Message, ...]:
    """The messages, where neighbours of the assistant's, as parts of one turn, are one."""
    found: list[Message] = []
    for message in messages:
        if found and message.role == found[-1].role == "assistant":
            last = found.pop()
            said = "\n".join(filter(None, (last.text, message.text)))
            message = dataclasses.replace(last, text=said, calls=last.calls + message.calls)
        found.append(message)
    return tuple(found)


def arguments(value: Any) -> Mapping[str, Any]:
    """A call's arguments, given as an object or as its JSON; empty where they make no sense."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, Mapping) else {}


def json_of(args: Mapping[str, Any]) -> str:
    """A call's arguments, as the text in which most dialects carry them."""
    return json.dumps(args, ensure_ascii=False)


def input_of(call: ToolCall) -> str:
    """The text that a freeform tool is called with."""
    said = call.args.get("input")
    return said if isinstance(said, str) else json_of(call.args)


def freeforms(request: ChatRequest) -> frozenset[str]:
    """Names of the tools that take a text."""
    return frozenset(tool.name for tool in request.tools if tool.freeform)


def reply_id(request: ChatRequest, reply: ChatReply) -> str:
    """An identifier of a reply: another for each turn, since clients take equal ones for one
    reply, and the same when the same is asked and answered again."""
    seen = (len(request.messages), request.messages[-1:], reply)
    return hashlib.sha256(repr(seen).encode("utf-8", "replace")).hexdigest()[:24]


def count(data: Mapping[str, Any], *path: str) -> int | None:
    """The whole number at ``path``, if there is one."""
    value: Any = data
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if type(value) is int and value >= 0 else None


def fresh(asked: int | None, *cached: int | None) -> int | None:
    """The tokens of an input that were neither read from a cache nor written to one."""
    return None if asked is None else max(0, asked - sum(each or 0 for each in cached))


def halves(whole: str) -> list[str]:
    """A text in the pieces in which it is streamed: two, so that nobody relies on one."""
    middle = len(whole) // 2
    return [part for part in (whole[:middle], whole[middle:]) if part]
