"""A chat completion asked for and given, and what answers one."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOffer:
    """A tool that the request offers: its name and the names of its parameters."""

    name: str
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """The parts of an OpenAI chat completion request that backends look at."""

    model: str
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[ToolOffer, ...] = ()

    @classmethod
    def from_json(cls, data: Any) -> ChatRequest:
        """Raises ``ValueError`` or ``TypeError`` saying what is wrong with the request."""
        if not isinstance(data, Mapping) or not isinstance(data.get("messages"), list):
            raise TypeError("the request must be an object with a list of messages")
        if not all(isinstance(message, Mapping) for message in data["messages"]):
            raise ValueError("each message must be an object")
        if data.get("stream"):
            raise ValueError("streaming is not supported by this version of the gateway")
        return cls(
            model=str(data.get("model", "")),
            messages=tuple(data["messages"]),
            tools=tuple(_offer(tool) for tool in data.get("tools") or ()),
        )

    def count(self, role: str) -> int:
        """How many messages have that role."""
        return sum(message.get("role") == role for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    id: str
    name: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """An answer. ``refusal`` is the text with which a model declines."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    input_tokens: int = 0
    output_tokens: int = 0

    def to_json(self, model: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.refusal:
            message["refusal"] = self.refusal
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.args)},
                }
                for call in self.calls
            ]
        return {
            "id": "chatcmpl-agentbench",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": "tool_calls" if self.calls else "stop",
                }
            ],
            "usage": {
                "prompt_tokens": self.input_tokens,
                "completion_tokens": self.output_tokens,
                "total_tokens": self.input_tokens + self.output_tokens,
            },
        }


class BackendError(Exception):
    """The backend answers with an HTTP error."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code


class Backend(Protocol):
    """Answers requests of one run, one or several at a time."""

    @property
    def name(self) -> str: ...

    @property
    def scripted(self) -> bool:
        """Whether this is no model at all, as reports must say."""

    def reply(self, request: ChatRequest, closing: threading.Event) -> ChatReply:
        """Raises ``BackendError``. Gives up waiting once ``closing`` is set."""


def _offer(tool: Any) -> ToolOffer:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise TypeError("each tool must be an object with a function that has a name")
    schema = function.get("parameters")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return ToolOffer(
        name=function["name"],
        parameters=tuple(properties) if isinstance(properties, Mapping) else (),
    )
