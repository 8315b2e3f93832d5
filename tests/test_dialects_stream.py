"""Whole answers and streams say the same, in every dialect, whatever is answered."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_agentbench.execution import Usage
from pytest_agentbench.gateway import sse
from pytest_agentbench.gateway.chat import (
    ChatReply,
    ChatRequest,
    Message,
    RequestError,
    ToolCall,
    ToolOffer,
)
from pytest_agentbench.gateway.dialects import gemini
from pytest_agentbench.gateway.dialects.registry import DIALECTS, dialect_of

PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/m:streamGenerateContent",
}
#: On a machine that is busy with something else, slow says nothing.
SLOW = [HealthCheck.too_slow]
SOME = settings(max_examples=30, deadline=None, suppress_health_check=SLOW)
EACH = pytest.mark.parametrize("name", PATHS)
REQUEST = ChatRequest(
    model="m",
    messages=(Message(role="user", text="Hi"),),
    tools=(
        ToolOffer(name="read"),
        ToolOffer(name="patch", freeform=True),
        ToolOffer(name="agents::spawn"),
    ),
    stream=True,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NUMBERS = st.integers(0, 10**7)


@st.composite
def replies(draw: st.DrawFn) -> ChatReply:
    calls = []
    for number in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(["read", "patch", "agents::spawn"]))
        args = {"input": draw(st.text())} if name == "patch" else None
        args = args or draw(st.dictionaries(st.text(), JSON, max_size=3))
        calls.append(ToolCall(id=f"call_{number}", name=name, args=args))
    out = draw(NUMBERS)
    return ChatReply(
        text=draw(st.text()),
        calls=tuple(calls),
        refusal=draw(st.just("") | st.text()),
        usage=Usage(
            input_tokens=draw(NUMBERS),
            output_tokens=out,
            cache_read_tokens=draw(NUMBERS),
            cache_write_tokens=draw(NUMBERS),
            reasoning_tokens=draw(st.integers(0, out)),
        ),
    )


def chat_whole(events: list[Any]) -> Any:
    """The answer that a stream of chat completions adds up to, as clients put it together."""
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    calls: dict[int, Any] = {}
    finish = usage = None
    for event in events:
        usage = event["usage"] or usage
        for choice in event["choices"]:
            finish = choice["finish_reason"] or finish
            delta = choice["delta"]
            message["content"] += delta.get("content", "")
            if "refusal" in delta:
                message["refusal"] = message.get("refusal", "") + delta["refusal"]
            for piece in delta.get("tool_calls", ()):
                known = calls.setdefault(piece["index"], {})
                for key, value in piece.items():
                    if isinstance(value, dict):
                        inner = known.setdefault(key, {})
                        for name, text in value.items():
                            inner[name] = inner.get(name, "") + text
                    elif key != "index":
                        known[key] = value
    message["content"] = message["content"] or None
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    head = {key: events[0][key] for key in ("id", "created", "model")}
    return {**head, "object": "chat.completion", "choices": choices, "usage": usage}


def responses_whole(events: list[Any]) -> Any:
    """The same out of the deltas alone, but for what only the last event says."""
    items: dict[int, Any] = {}
    for number, event in enumerate(events):
        assert event["sequence_number"] == number
        item = items.get(event.get("output_index"))
        match event["type"].removeprefix("response.").split("."):
            case ["output_item", "added"]:
                items[event["output_index"]] = event["item"]
            case ["content_part", "added"]:
                item["content"].append(event["part"])
            case ["output_text" | "refusal" as kind, "delta"]:
                part = item["content"][event["content_index"]]
                part["text" if kind == "output_text" else kind] += event["delta"]
            case ["function_call_arguments", "delta"]:
                item["arguments"] += event["delta"]
            case ["custom_tool_call_input", "delta"]:
                item["input"] += event["delta"]
            case ["output_item", "done"]:
                assert item["id"] == event["item"]["id"]
                item["status"] = event["item"]["status"]
                assert item == event["item"]
    assert events[-1]["type"] == "response.completed"
    return {**events[-1]["response"], "output": [items[index] for index in sorted(items)]}


def messages_whole(events: list[Any]) -> Any:
    message: dict[str, Any] = {}
    grown: dict[int, str] = {}
    for event in events:
        match event["type"]:
            case "message_start":
                message = event["message"]
            case "content_block_start":
                message["content"].append(event["content_block"])
            case "content_block_delta":
                delta = event["delta"]
                said = delta["text"] if delta["type"] == "text_delta" else delta["partial_json"]
                grown[event["index"]] = grown.get(event["index"], "") + said
            case "content_block_stop":
                block = message["content"][event["index"]]
                said = grown.get(event["index"], "")
                if block["type"] == "text":
                    block["text"] = said
                else:
                    block["input"] = json.loads(said)
            case "message_delta":
                message |= event["delta"]
                message["usage"] |= event["usage"]
    assert events[-1]["type"] == "message_stop"
    return message


def gemini_whole(events: list[Any]) -> Any:
    parts: list[Any] = []
    for event in events:
        for part in event["candidates"][0]["content"]["parts"]:
            if "text" in part and parts and "text" in parts[-1]:
                parts[-1] = {"text": parts[-1]["text"] + part["text"]}
            else:
                parts.append(part)
    whole = events[-1]
    whole["candidates"][0]["content"]["parts"] = [p for p in parts if p != {"text": ""}]
    return whole


def plain(name: str, answer: Any) -> Any:
    """A whole answer in the form in which clients put a stream together."""
    return gemini_whole([answer]) if name == "gemini" else answer


WHOLE = {
    "chat": chat_whole,
    "responses": responses_whole,
    "messages": messages_whole,
    "gemini": gemini_whole,
}


def events_of(pieces: list[bytes]) -> list[Any]:
    reader = sse.Reader()
    return [event for piece in pieces for event in reader.feed(piece)]


@EACH
@SOME
@given(reply=replies())
def test_what_a_stream_adds_up_to_is_the_whole_answer(name: str, reply: ChatReply) -> None:
    dialect = dialect_of(PATHS[name])
    pieces = dialect.stream(REQUEST, reply)
    whole = json.loads(json.dumps(dialect.reply(REQUEST, reply)))
    assert len(pieces) >= 2
    assert WHOLE[name](events_of(pieces)) == plain(name, whole)


@EACH
@SOME
@given(reply=replies())
def test_usage_of_a_stream_is_that_of_the_whole_answer(name: str, reply: ChatReply) -> None:
    dialect = dialect_of(PATHS[name])
    usage = Usage()
    for event in events_of(dialect.stream(REQUEST, reply)):
        said = dialect.usage(event)
        if said is not None:
            known = {
                key: value for key, value in dataclasses.asdict(said).items() if value is not None
            }
            usage = dataclasses.replace(usage, **known)
    assert usage == dialect.usage(dialect.reply(REQUEST, reply))
    expected = reply.usage
    if name == "gemini":  # It has no word for what was written to a cache.
        fresh = expected.input_tokens + expected.cache_write_tokens
        expected = dataclasses.replace(expected, input_tokens=fresh, cache_write_tokens=None)
    assert usage == expected


@EACH
@SOME
@given(reply=replies(), data=st.data())
def test_a_reader_finds_the_same_events_however_the_bytes_are_cut(
    name: str, reply: ChatReply, data: st.DataObject
) -> None:
    pieces = dialect_of(PATHS[name]).stream(REQUEST, reply)
    whole = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    ends = [*cuts, len(whole)]
    cut = [whole[start:end] for start, end in zip([0, *cuts], ends, strict=True)]
    assert events_of(cut) == events_of(pieces)


def follow_up(name: str, answer: Any) -> dict[str, Any]:
    """The next request of a client that got ``answer``."""
    if name == "chat":
        return {"messages": [answer["choices"][0]["message"]]}
    if name == "responses":
        return {"input": answer["output"]}
    if name == "messages":
        return {"messages": [{"role": "assistant", "content": answer["content"]}]}
    return {"contents": [answer["candidates"][0]["content"]]}


@EACH
@SOME
@given(reply=replies())
def test_an_answer_that_a_client_sends_back_is_understood(name: str, reply: ChatReply) -> None:
    dialect = dialect_of(PATHS[name])
    body = follow_up(name, json.loads(json.dumps(dialect.reply(REQUEST, reply))))
    [message] = dialect.request(PATHS[name], body).messages or [Message(role="assistant")]
    assert message.role == "assistant"
    assert message.calls == reply.calls
    if name == "chat":  # There a refusal stands beside the content.
        assert message.text == reply.text
    else:
        joined = "" if name == "gemini" else "\n"
        assert message.text == joined.join(filter(None, (reply.text, reply.refusal)))


@EACH
@SOME
@given(body=st.dictionaries(st.sampled_from(["messages", "input", "contents", "tools"]), JSON))
def test_a_request_of_any_kind_is_understood_or_refused(name: str, body: Any) -> None:
    with contextlib.suppress(RequestError):
        dialect_of(PATHS[name]).request(PATHS[name], body)


KEYS = st.sampled_from(
    (
        *(
            "role",
            "type",
            "content",
            "parts",
            "text",
            "input",
            "output",
            "call_id",
            "tool_calls",
            "function",
            "custom",
            "name",
        ),
        *(
            "id",
            "functionCall",
            "functionResponse",
            "response",
            "args",
            "input_schema",
            "functionDeclarations",
        ),
        *("parameters", "system", "tool_choice", "usage", "message", "usageMetadata"),
    )
)
KINDS = st.sampled_from(
    (
        *("user", "assistant", "model", "tool", "function", "custom", "namespace", "message"),
        *(
            "function_call",
            "tool_use",
            "text",
            "tool_result",
            "custom_tool_call",
            "function_call_output",
        ),
    )
)
SHAPED = st.recursive(
    st.none() | KINDS | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=8,
)


@EACH
@SOME
@given(items=st.lists(st.dictionaries(KEYS, SHAPED, max_size=6), max_size=3), said=SHAPED)
def test_a_request_of_nearly_the_right_shape_is_understood_or_refused(
    name: str, items: Any, said: Any
) -> None:
    key = {"responses": "input", "gemini": "contents"}.get(name, "messages")
    for body in ({key: items, "system": said}, {key: [], "tools": items, "tool_choice": said}):
        with contextlib.suppress(RequestError):
            dialect_of(PATHS[name]).request(PATHS[name], body)


@EACH
@SOME
@given(data=st.dictionaries(KEYS, SHAPED))
def test_usage_is_asked_of_anything(name: str, data: Any) -> None:
    usage = dialect_of(PATHS[name]).usage(data)
    assert usage is None or all(value is None for value in dataclasses.asdict(usage).values())


@EACH
def test_replies_of_two_turns_have_different_ids_and_that_of_one_always_the_same(name: str) -> None:
    dialect = dialect_of(PATHS[name])
    key = "responseId" if name == "gemini" else "id"
    reply = ChatReply(text="Same.")
    longer = dataclasses.replace(REQUEST, messages=REQUEST.messages * 2)
    first, again, second = (
        dialect.reply(request, reply)[key] for request in (REQUEST, REQUEST, longer)
    )
    assert first == again != second


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_an_empty_answer_is_an_answer(dialect: Any) -> None:
    pieces = dialect.stream(REQUEST, ChatReply())
    assert len(pieces) >= 2
    assert all(piece.endswith(b"\n\n") for piece in pieces)


@SOME
@given(reply=replies())
def test_without_server_sent_events_gemini_streams_one_array(reply: ChatReply) -> None:
    pieces = dialect_of(PATHS["gemini"]).stream(REQUEST, reply)
    array = gemini.json_array(pieces)
    assert len(array) == len(pieces) + 1
    assert json.loads(b"".join(array)) == events_of(pieces)


def test_the_events_of_a_stream_of_responses_are_named_as_the_provider_names_them() -> None:
    reply = ChatReply(text="Now.", calls=(ToolCall(id="a", name="agents::spawn", args={"n": 1}),))
    pieces = dialect_of(PATHS["responses"]).stream(REQUEST, reply)
    names = [piece.decode().split("\n")[0].removeprefix("event: response.") for piece in pieces]
    assert names == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    call = events_of(pieces)[-1]["response"]["output"][1]
    assert (call["namespace"], call["name"], call["arguments"]) == ("agents", "spawn", '{"n": 1}')


def test_the_events_of_a_stream_of_messages_are_named_as_the_provider_names_them() -> None:
    reply = ChatReply(text="Now.", calls=(ToolCall(id="a", name="read", args={"n": 1}),))
    pieces = dialect_of(PATHS["messages"]).stream(REQUEST, reply)
    names = [piece.decode().split("\n")[0].removeprefix("event: ") for piece in pieces]
    block = ["content_block_start", *["content_block_delta"] * 2, "content_block_stop"]
    assert names == ["message_start", "ping", *block, *block, "message_delta", "message_stop"]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("messages", lambda answer: answer["stop_reason"]),
        ("gemini", lambda answer: answer["candidates"][0]["finishReason"].lower()),
        ("chat", lambda answer: answer["choices"][0]["message"]["refusal"]),
        ("responses", lambda answer: answer["output"][0]["content"][0]["type"]),
    ],
)
def test_a_refusal_is_told_as_one(name: str, place: Any) -> None:
    answer = dialect_of(PATHS[name]).reply(REQUEST, ChatReply(refusal="No."))
    expected = {"gemini": "safety", "chat": "No."}.get(name, "refusal")
    assert place(answer) == expected
