"""One question to a model, in the dialect of its provider: pure functions over JSON.

Each asks for temperature 0, offers no tools, and gives the schema that the answer must have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.grading.judging.material import Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A conversation of one question. ``images`` are shown after the text."""

    system: str
    user: str
    schema: Mapping[str, Any]
    images: tuple[Piece, ...] = ()
    max_tokens: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a model answered. ``cut`` says that it ran into ``max_tokens``."""

    text: str = ""
    refusal: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Wire:
    """How to ask in one dialect: ``path`` is that of the request."""

    path: str
    body: Callable[[str, Prompt], dict[str, Any]]
    said: Callable[[Mapping[str, Any]], Said]


def _chat_body(model: str, prompt: Prompt) -> dict[str, Any]:
    content: list[Any] = [{"type": "text", "text": prompt.user}]
    content += [
        {"type": "image_url", "image_url": {"url": f"data:{each.media};base64,{each.image}"}}
        for each in prompt.images
    ]
    return {
        "model": model,
        "temperature": 0,
        "max_tokens": prompt.max_tokens,
        "messages": [
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": content if prompt.images else prompt.user},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "verdicts", "strict": True, "schema": prompt.schema},
        },
    }


def _chat_said(data: Mapping[str, Any]) -> Said:
    choice = data["choices"][0]
    message, reason = choice["message"], choice.get("finish_reason")
    refusal = message.get("refusal") or ("a content filter" * (reason == "content_filter"))
    return Said(text=message.get("content") or "", refusal=refusal, cut=reason == "length")


def _messages_body(model: str, prompt: Prompt) -> dict[str, Any]:
    content: list[Any] = [{"type": "text", "text": prompt.user}]
    content += [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": each.media, "data": each.image},
        }
        for each in prompt.images
    ]
    return {
        "model": model,
        "temperature": 0,
        "max_tokens": prompt.max_tokens,
        "system": prompt.system,
        "messages": [{"role": "user", "content": content}],
        "output_config": {"format": {"type": "json_schema", "schema": prompt.schema}},
    }


def _messages_said(data: Mapping[str, Any]) -> Said:
    text = "".join(part["text"] for part in data["content"] if part.get("type") == "text")
    reason = data.get("stop_reason")
    return Said(
        text=text,
        refusal=(text or "it declined") if reason == "refusal" else "",
        cut=reason == "max_tokens",
    )


def _gemini_body(model: str, prompt: Prompt) -> dict[str, Any]:
    parts: list[Any] = [{"text": prompt.user}]
    parts += [
        {"inlineData": {"mimeType": each.media, "data": each.image}} for each in prompt.images
    ]
    return {
        "systemInstruction": {"parts": [{"text": prompt.system}]},
        "contents": [{"role": "user", "parts": parts}],
        "generationConfig": {
            "temperature": 0,
            "maxOutputTokens": prompt.max_tokens,
            "responseMimeType": "application/json",
            "responseJsonSchema": prompt.schema,
        },
    }


def _gemini_said(data: Mapping[str, Any]) -> Said:
    blocked = (data.get("promptFeedback") or {}).get("blockReason")
    if blocked:
        return Said(refusal=f"blocked: {blocked}")
    candidate = data["candidates"][0]
    parts = (candidate.get("content") or {}).get("parts") or ()
    text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
    reason = candidate.get("finishReason")
    refusal = f"stopped: {reason}" if reason in ("SAFETY", "PROHIBITED_CONTENT") else ""
    return Said(text=text, refusal=refusal, cut=reason == "MAX_TOKENS")


CHAT = Wire("/v1/chat/completions", _chat_body, _chat_said)
#: By the ``provider`` of an upstream profile; every other server is asked in chat completions.
WIRES: Mapping[str, Wire] = {
    "anthropic": Wire("/v1/messages", _messages_body, _messages_said),
    "gemini": Wire("/v1beta/models/judge:generateContent", _gemini_body, _gemini_said),
}
