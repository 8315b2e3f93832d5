"""The wire formats: requests as real clients send them, errors and usage as they read them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_agentbench.execution import Usage
from pytest_agentbench.gateway.chat import Message, RequestError, ToolCall, ToolOffer
from pytest_agentbench.gateway.dialects import gemini, messages
from pytest_agentbench.gateway.dialects.registry import DIALECTS, dialect_of

PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/some-model:generateContent",
}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
PATH_OFFER = ToolOffer(
    name="read", description="Reads.", parameters=SCHEMA["properties"], required=("path",)
)
READ = {"name": "read", "description": "Reads."}


def parsed(name: str, body: Any, path: str = ""):
    path = path or PATHS[name]
    found = dialect_of(path)
    assert found is not None
    assert found.name == name
    return found.request(path, body)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/chat/completions", "chat"),
        ("/openai/v1/chat/completions", "chat"),
        ("/v1/responses", "responses"),
        ("/v1/messages", "messages"),
        ("/v1beta/models/m:generateContent", "gemini"),
        ("/v1beta/models/m:streamGenerateContent", "gemini"),
        ("/v1/projects/p/locations/l/publishers/g/models/m:streamGenerateContent", "gemini"),
        ("/v1/messages/count_tokens", None),
        ("/v1/responses/compact", None),
        ("/v1beta/models/m:countTokens", None),
        ("/v1/models", None),
        ("/", None),
    ],
)
def test_a_path_is_a_model_call_in_one_dialect_at_most(path: str, name: str | None) -> None:
    assert [dialect.name for dialect in DIALECTS if dialect.matches(path)] == [name] * bool(name)
    found = dialect_of(path)
    assert (found and found.name) == name


def test_a_chat_request() -> None:
    call = {"name": "read", "arguments": '{"path": "größe.txt"}'}
    request = parsed(
        "chat",
        {
            "model": "m",
            "stream": True,
            "parallel_tool_calls": False,
            "messages": [
                {"role": "developer", "content": "Be kind."},
                {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "image"}]},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "a", "type": "function", "function": call},
                        {"id": "b", "type": "custom", "custom": {"name": "run", "input": "x\n"}},
                    ],
                },
                {"role": "tool", "tool_call_id": "a", "content": "eins"},
                {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "2"}]},
            ],
            "tools": [
                {"type": "function", "function": {**READ, "parameters": SCHEMA}},
                {"type": "custom", "custom": {"name": "run"}},
                {"type": "web_search"},
            ],
        },
    )
    assert (request.model, request.stream, request.parallel) == ("m", True, False)
    assert request.messages == (
        Message(role="system", text="Be kind."),
        Message(role="user", text="Hi"),
        Message(
            role="assistant",
            calls=(
                ToolCall(id="a", name="read", args={"path": "größe.txt"}),
                ToolCall(id="b", name="run", args={"input": "x\n"}),
            ),
        ),
        Message(role="tool", text="eins", call_id="a"),
        Message(role="tool", text="2", call_id="b"),
    )
    assert request.tools == (PATH_OFFER, ToolOffer(name="run", freeform=True))


def test_a_request_of_codex_in_its_second_turn() -> None:
    """As codex 0.171 sends it: instructions are a message, some tools stand in a namespace."""
    request = parsed(
        "responses",
        {
            "model": "m",
            "stream": True,
            "parallel_tool_calls": True,
            "input": [
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "developer",
                    "content": [
                        {"type": "input_text", "text": "You are a coding agent."},
                        {"type": "input_text", "text": "No sandbox."},
                    ],
                },
                {"role": "user", "content": [{"type": "input_text", "text": "Do it"}]},
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Now.", "annotations": []}],
                },
                {
                    "type": "function_call",
                    "id": "fc_1",
                    "name": "read",
                    "arguments": '{"path": "a"}',
                    "call_id": "a",
                },
                {
                    "type": "function_call",
                    "namespace": "agents",
                    "name": "spawn",
                    "arguments": "{}",
                    "call_id": "b",
                },
                {"type": "custom_tool_call", "name": "patch", "input": "*** Begin", "call_id": "c"},
                {"type": "function_call_output", "call_id": "a", "output": "Output:\n1"},
                {
                    "type": "function_call_output",
                    "call_id": "b",
                    "output": [{"type": "input_text", "text": "zwei"}],
                },
                {"type": "custom_tool_call_output", "call_id": "c", "output": "Done"},
            ],
            "tools": [
                {"type": "function", "strict": False, "parameters": SCHEMA, **READ},
                {"type": "custom", "name": "patch", "format": {"type": "grammar"}},
                {
                    "type": "namespace",
                    "name": "agents",
                    "tools": [{"type": "function", "name": "spawn", "parameters": {}}],
                },
                {"type": "web_search", "external_web_access": False},
                {"type": "local_shell"},
            ],
        },
    )
    assert request.messages == (
        Message(role="system", text="You are a coding agent.\nNo sandbox."),
        Message(role="user", text="Do it"),
        Message(
            role="assistant",
            text="Now.",
            calls=(
                ToolCall(id="a", name="read", args={"path": "a"}),
                ToolCall(id="b", name="agents::spawn", args={}),
                ToolCall(id="c", name="patch", args={"input": "*** Begin"}),
            ),
        ),
        Message(role="tool", text="Output:\n1", call_id="a"),
        Message(role="tool", text="zwei", call_id="b"),
        Message(role="tool", text="Done", call_id="c"),
    )
    assert request.tools == (
        PATH_OFFER,
        ToolOffer(name="patch", freeform=True),
        ToolOffer(name="agents::spawn"),
    )
    assert request.stream
    assert request.parallel


def test_responses_input_may_be_a_text_with_instructions_beside() -> None:
    request = parsed("responses", {"model": "m", "instructions": "Be kind.", "input": "Hi"})
    assert request.messages == (
        Message(role="system", text="Be kind."),
        Message(role="user", text="Hi"),
    )
    assert not request.stream


def test_a_request_of_claude_code_in_its_second_turn() -> None:
    """As claude-code 2.1.332 sends it: system messages stand between the others too."""
    cached = {"cache_control": {"type": "ephemeral"}}
    request = parsed(
        "messages",
        {
            "model": "m",
            "max_tokens": 32000,
            "stream": True,
            "system": [
                {"type": "text", "text": "x-header: 1"},
                {"type": "text", "text": "You are an agent.", **cached},
            ],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Do it"}]},
                {"role": "system", "content": "# Environment"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                        {"type": "text", "text": "Now."},
                        {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "ü"}},
                        {"type": "tool_use", "id": "b", "name": "find", "input": {}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "a", "content": "eins", **cached},
                        {
                            "type": "tool_result",
                            "tool_use_id": "b",
                            "is_error": True,
                            "content": [
                                {"type": "text", "text": "no"},
                                {"type": "tool_reference", "tool_name": "found"},
                            ],
                        },
                        {"type": "text", "text": "Go on"},
                    ],
                },
            ],
            "tools": [
                {**READ, "input_schema": SCHEMA},
                {"name": "hidden", "input_schema": {}, "defer_loading": True},
                {"name": "found", "input_schema": {}, "defer_loading": True},
                {"type": "web_search_20250305", "name": "web_search"},
            ],
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        },
    )
    assert request.messages == (
        Message(role="system", text="x-header: 1\nYou are an agent."),
        Message(role="user", text="Do it"),
        Message(role="system", text="# Environment"),
        Message(
            role="assistant",
            text="Now.",
            calls=(
                ToolCall(id="a", name="read", args={"path": "ü"}),
                ToolCall(id="b", name="find", args={}),
            ),
        ),
        Message(role="tool", text="eins", call_id="a", failed=False),
        Message(role="tool", text="no", call_id="b", failed=True),
        Message(role="user", text="Go on"),
    )
    assert request.tools == (PATH_OFFER, ToolOffer(name="found"))
    assert (request.stream, request.parallel) == (True, False)


def test_messages_may_have_texts_in_place_of_blocks() -> None:
    body = {"model": "m", "system": "Be kind.", "messages": [{"role": "user", "content": "Hi"}]}
    request = parsed("messages", body)
    assert request.messages == (
        Message(role="system", text="Be kind."),
        Message(role="user", text="Hi"),
    )
    assert (request.stream, request.parallel) == (False, True)


def gemini_turn(first: dict[str, Any], second: dict[str, Any], *results: dict[str, Any]) -> Any:
    return {
        "systemInstruction": {"parts": [{"text": "Be kind."}], "role": "user"},
        "contents": [
            {"parts": [{"text": "Do "}, {"text": "it"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "Hm.", "thought": True},
                    {"text": "Now."},
                    {"functionCall": {"name": "read", "args": {"path": "ü"}, **first}},
                    {"functionCall": {"name": "read", **second}},
                ],
            },
            {"role": "user", "parts": [{"functionResponse": each} for each in results]},
        ],
        "tools": [
            {"functionDeclarations": [{**READ, "parametersJsonSchema": SCHEMA}]},
            {"googleSearch": {}},
        ],
    }


def test_a_request_of_gemini_cli_in_its_second_turn() -> None:
    """As gemini-cli 0.61 sends it, which gives the ids of calls back."""
    results = (
        {"id": "b", "name": "read", "response": {"error": "no such file"}},
        {"id": "a", "name": "read", "response": {"output": "eins"}},
    )
    body = gemini_turn({"id": "a"}, {"id": "b"}, *results)
    request = parsed("gemini", body, "/v1beta/models/a%2Fm:streamGenerateContent")
    assert (request.model, request.stream, request.parallel) == ("a/m", True, True)
    assert request.messages == (
        Message(role="system", text="Be kind."),
        Message(role="user", text="Do it"),
        Message(
            role="assistant",
            text="Now.",
            calls=(
                ToolCall(id="a", name="read", args={"path": "ü"}),
                ToolCall(id="b", name="read", args={}),
            ),
        ),
        Message(role="tool", text="no such file", call_id="b", failed=True),
        Message(role="tool", text="eins", call_id="a", failed=False),
    )
    assert request.tools == (PATH_OFFER,)


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([{}, {}], ["gemini-call-1", "gemini-call-2"]),
        ([{"id": "x"}, {"id": "y"}], ["gemini-call-1", "gemini-call-2"]),
        ([{"id": "gemini-call-2"}, {}], ["gemini-call-2", "gemini-call-1"]),
    ],
)
def test_gemini_results_without_ids_belong_to_calls_by_name_and_order(
    results: list[dict[str, Any]], expected: list[str]
) -> None:
    said = [{"name": "read", "response": {"lines": 1}, **each} for each in results]
    request = parsed("gemini", gemini_turn({}, {}, *said))
    [turn] = request.of("assistant")
    assert [call.id for call in turn.calls] == ["gemini-call-1", "gemini-call-2"]
    assert [message.call_id for message in request.of("tool")] == expected
    assert [(m.text, m.failed) for m in request.of("tool")] == [('{"lines": 1}', None)] * 2


def test_gemini_schemas_in_capitals_are_json_schemas() -> None:
    properties = {
        "path": {"type": "STRING"},
        "argv": {"type": "ARRAY", "items": {"type": "STRING"}},
    }
    schema = {"type": "OBJECT", "properties": properties, "required": ["path"]}
    body = {"contents": [], "tools": [{"functionDeclarations": [{**READ, "parameters": schema}]}]}
    [offer] = parsed("gemini", body).tools
    argv = {"type": "array", "items": {"type": "string"}}
    assert offer.parameters == {"path": {"type": "string"}, "argv": argv}
    assert offer.required == ("path",)


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("chat", {}, "messages must be a list of objects"),
        ("chat", {"messages": [{"role": "judge"}]}, "there is no role 'judge'"),
        ("chat", {"messages": [], "tools": [{"type": "function"}]}, "function must be an object"),
        ("responses", {"input": 1}, "input must be a list of objects"),
        ("responses", {"input": [{"role": "judge"}]}, "there is no role 'judge'"),
        ("responses", {"tools": [{"type": "function"}]}, "each tool must have a name"),
        ("messages", {"messages": [{"role": "user"}]}, "content must be a list of objects"),
        (
            "messages",
            {"messages": [{"role": "tool", "content": ""}]},
            "there is no role 'tool'",
        ),
        ("gemini", {"contents": [{"role": "tool"}]}, "there is no role 'tool'"),
        ("gemini", {"contents": "Hi"}, "contents must be a list of objects"),
    ],
)
def test_a_request_that_makes_no_sense_says_why(name: str, body: Any, said: str) -> None:
    with pytest.raises(RequestError) as refused:
        parsed(name, body)
    assert str(refused.value) == said


OPENAI = {
    (400, "context_length_exceeded"): ("invalid_request_error", "context_length_exceeded"),
    (429, ""): ("requests", "rate_limit_exceeded"),
    (429, "insufficient_quota"): ("insufficient_quota", "insufficient_quota"),
    (401, ""): ("invalid_request_error", "invalid_api_key"),
    (404, ""): ("invalid_request_error", "model_not_found"),
    (529, ""): ("server_error", "server_is_overloaded"),
    (500, ""): ("server_error", None),
    (400, "odd"): ("invalid_request_error", "odd"),
}
ANTHROPIC = {
    (400, "context_length_exceeded"): ("invalid_request_error", "prompt is too long: Why."),
    (429, ""): ("rate_limit_error", "Why."),
    (429, "insufficient_quota"): ("billing_error", "Your credit balance is too low: Why."),
    (401, ""): ("authentication_error", "Why."),
    (403, ""): ("permission_error", "Why."),
    (404, ""): ("not_found_error", "Why."),
    (413, ""): ("request_too_large", "Why."),
    (529, ""): ("overloaded_error", "Why."),
    (504, ""): ("timeout_error", "Why."),
    (500, ""): ("api_error", "Why."),
    (422, ""): ("invalid_request_error", "Why."),
}
GOOGLE = {
    (400, "context_length_exceeded"): "INVALID_ARGUMENT",
    (429, ""): "RESOURCE_EXHAUSTED",
    (429, "insufficient_quota"): "RESOURCE_EXHAUSTED",
    (401, ""): "UNAUTHENTICATED",
    (403, ""): "PERMISSION_DENIED",
    (404, ""): "NOT_FOUND",
    (529, ""): "UNAVAILABLE",
    (504, ""): "DEADLINE_EXCEEDED",
    (500, ""): "INTERNAL",
}


@pytest.mark.parametrize("name", ["chat", "responses"])
@pytest.mark.parametrize(("case", "expected"), OPENAI.items())
def test_errors_of_openai(name: str, case: tuple[int, str], expected: tuple[str, str]) -> None:
    status, code = case
    error = dialect_of(PATHS[name]).error(status, "Why.", code)["error"]
    assert (error["type"], error["code"]) == expected
    long = "This model's maximum context length is exceeded: Why."
    assert error["message"] == (long if "context" in code else "Why.")


@pytest.mark.parametrize(("case", "expected"), ANTHROPIC.items())
def test_errors_of_anthropic(case: tuple[int, str], expected: tuple[str, str]) -> None:
    status, code = case
    said = dialect_of(PATHS["messages"]).error(status, "Why.", code)
    assert said["type"] == "error"
    assert (said["error"]["type"], said["error"]["message"]) == expected


@pytest.mark.parametrize(("case", "expected"), GOOGLE.items())
def test_errors_of_gemini(case: tuple[int, str], expected: str) -> None:
    status, code = case
    error = dialect_of(PATHS["gemini"]).error(status, "Why.", code)["error"]
    assert (error["code"], error["status"]) == (status, expected)
    details = error.get("details", [{"violations": []}])[0]
    ids = [violation["quotaId"] for violation in details["violations"]]
    assert any("PerDay" in each for each in ids) == (code == "insufficient_quota")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("messages", "Prompt is too long: 210000 tokens > 200000 maximum"),
        ("chat", "This model's maximum context length is exceeded by 3 tokens"),
        ("gemini", "The input token count exceeds the maximum number of tokens allowed (7)."),
    ],
)
def test_a_message_that_clients_know_is_left_as_it_is(name: str, message: str) -> None:
    said = dialect_of(PATHS[name]).error(400, message, "context_length_exceeded")
    assert said["error"]["message"] == message


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("chat", {"error": {"code": "rate_limit_exceeded", "message": "Why."}}),
        ("messages", {"type": "error", "error": {"type": "rate_limit_error", "message": "Why."}}),
        (
            "responses",
            {
                "type": "response.failed",
                "response": {
                    "status": "failed",
                    "error": {"code": "rate_limit_exceeded", "message": "Why."},
                },
            },
        ),
        ("gemini", {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Why."}}),
    ],
)
def test_a_stream_may_end_in_an_error(name: str, expected: dict[str, Any]) -> None:
    piece = dialect_of(PATHS[name]).stream_error(429, "Why.", "").decode()
    event, _, data = piece.rpartition("data: ")
    assert piece.endswith("\n\n")
    assert event == {"messages": "event: error\n", "responses": "event: response.failed\n"}.get(
        name, ""
    )

    def holds(part: Any, whole: Any) -> bool:
        if isinstance(part, dict):
            return all(holds(value, whole[key]) for key, value in part.items())
        return part == whole

    assert holds(expected, json.loads(data or piece))


WHOLE = Usage(
    input_tokens=100,
    output_tokens=30,
    cache_read_tokens=7,
    cache_write_tokens=5,
    reasoning_tokens=9,
)
OPENAI_INPUT = {"cached_tokens": 7, "cache_write_tokens": 5}
RESPONSES_USAGE = {
    "input_tokens": 112,
    "input_tokens_details": OPENAI_INPUT,
    "output_tokens": 30,
    "output_tokens_details": {"reasoning_tokens": 9},
}
MESSAGES_USAGE = {
    "input_tokens": 100,
    "cache_read_input_tokens": 7,
    "cache_creation_input_tokens": 5,
    "output_tokens": 30,
    "output_tokens_details": {"thinking_tokens": 9},
}


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        (
            "chat",
            {
                "usage": {
                    "prompt_tokens": 112,
                    "prompt_tokens_details": OPENAI_INPUT,
                    "completion_tokens": 30,
                    "completion_tokens_details": {"reasoning_tokens": 9},
                }
            },
            WHOLE,
        ),
        ("chat", {"choices": [], "usage": None}, None),
        (
            "chat",
            {"usage": {"prompt_tokens": 20, "completion_tokens": 3, "prompt_cache_hit_tokens": 8}},
            Usage(input_tokens=12, output_tokens=3, cache_read_tokens=8),
        ),
        ("chat", {"usage": {"completion_tokens": 3}}, Usage(output_tokens=3)),
        ("responses", {"usage": RESPONSES_USAGE}, WHOLE),
        ("responses", {"type": "x", "response": {"usage": RESPONSES_USAGE}}, WHOLE),
        ("responses", {"type": "x", "response": {"usage": None}}, None),
        ("responses", {"type": "response.output_text.delta", "delta": "a"}, None),
        ("messages", {"usage": MESSAGES_USAGE}, WHOLE),
        ("messages", {"type": "message_start", "message": {"usage": MESSAGES_USAGE}}, WHOLE),
        (
            "messages",
            {"type": "message_delta", "usage": {"input_tokens": 0, "output_tokens": 4}},
            Usage(output_tokens=4),
        ),
        ("messages", {"type": "ping"}, None),
        (
            "gemini",
            {
                "usageMetadata": {
                    "promptTokenCount": 100,
                    "toolUsePromptTokenCount": 7,
                    "cachedContentTokenCount": 7,
                    "candidatesTokenCount": 21,
                    "thoughtsTokenCount": 9,
                }
            },
            Usage(input_tokens=100, output_tokens=30, cache_read_tokens=7, reasoning_tokens=9),
        ),
        ("gemini", {"usageMetadata": {"promptTokenCount": 3}}, Usage(input_tokens=3)),
        ("gemini", {"candidates": []}, None),
    ],
)
def test_usage_is_counted_alike(name: str, data: Any, expected: Usage | None) -> None:
    assert dialect_of(PATHS[name]).usage(data) == expected


def test_a_key_goes_where_the_provider_looks_for_it() -> None:
    assert {dialect.name: dialect.key_headers("k") for dialect in DIALECTS} == {
        "chat": {"Authorization": "Bearer k"},
        "responses": {"Authorization": "Bearer k"},
        "messages": {"x-api-key": "k"},
        "gemini": {"x-goog-api-key": "k"},
    }


def test_the_size_of_a_request_is_asked_apart() -> None:
    assert messages.counts_tokens("/v1/messages/count_tokens")
    assert not messages.counts_tokens("/v1/messages")
    assert messages.token_count(42) == {"input_tokens": 42}
    assert gemini.counts_tokens("/v1beta/models/m:countTokens")
    assert not gemini.counts_tokens("/v1beta/models/m:generateContent")
    assert gemini.token_count(42) == {"totalTokens": 42}
