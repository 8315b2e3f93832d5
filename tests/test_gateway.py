"""The gateway: how it serves a run's model."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import ModelEndpoint, Usage
from pytest_agentbench.gateway.chat import ChatReply, ChatRequest
from pytest_agentbench.gateway.meter import Meter, provider_status
from pytest_agentbench.gateway.server import Line, Server, open_line
from pytest_agentbench.scenario.model import Scenario, Step
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trial import ModelProfile, Phase, RuntimeProfile, Trial

STEPS = (
    Step(verb="say", text="First the notes."),
    Step(verb="read", path="notes.txt"),
    Step(verb="exec", argv=("sort", "a b.txt")),
    Step(verb="write", path="out.txt", content="done"),
    Step(verb="say", text="Written."),
)


def trial(index: int = 1, difficulty: str = "medium", **fields: Any) -> Trial:
    scenario = Scenario(
        id="demo",
        path=Path("demo.yaml"),
        prompt="Do it.",
        difficulty=difficulty,
        **{"solution": STEPS, **fields},
    )
    return Trial(
        scenario=scenario,
        runtime=RuntimeProfile(name="minimal", adapter="minimal"),
        mode="baseline",
        index=index,
        phases=(Phase(name="baseline", seconds=10),),
    )


def profile(**options: Any) -> ModelProfile:
    return ModelProfile(name="toy", backend="scripted", options=options)


def test_another_backend_is_yet_to_come() -> None:
    with (
        pytest.raises(TrialFault) as caught,
        open_line(ModelProfile(name="gpt", backend="upstream"), trial(), STEPS),
    ):
        pass
    assert caught.value.status is Status.HARNESS_ERROR
    assert str(caught.value) == (
        "[tool.agentbench.models.gpt]: backend 'upstream' comes with the gateway; this version "
        "has: scripted"
    )


class Client(http.client.HTTPConnection):
    """Sends raw requests to a line."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        super().__init__("gateway")
        self.endpoint = endpoint

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.endpoint.socket))

    def post(
        self,
        body: bytes,
        path: str = "/v1/chat/completions",
        **headers: str,
    ) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self.endpoint.token}", **headers}
        self.request("POST", path, body, headers)
        response = self.getresponse()
        return response.status, json.loads(response.read())


@pytest.fixture
def dial() -> Iterator[Callable[..., tuple[Line, Client]]]:
    """Opens a line to a scripted model with some options, and a client to it."""
    with ExitStack() as stack:

        def dial(**options: Any) -> tuple[Line, Client]:
            line = stack.enter_context(open_line(profile(**options), trial(), STEPS))
            client = Client(line.endpoint)
            stack.callback(client.close)
            return line, client

        yield dial


BODY = json.dumps(
    {
        "model": "toy",
        "messages": [{"role": "user", "content": "Do it."}],
        "tools": [
            {"type": "function", "function": {"name": "read", "parameters": {"properties": {}}}}
        ],
    }
).encode()


def test_a_request_over_the_socket(dial: Callable[..., tuple[Line, Client]]) -> None:
    line, client = dial()
    status, data = client.post(BODY)
    assert status == 200
    assert data["model"] == "toy"
    assert data["choices"] == [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "First the notes.",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "read", "arguments": '{"path": "notes.txt"}'},
                    }
                ],
            },
        }
    ]
    usage = data["usage"]
    assert client.post(BODY)[0] == 200  # the connection is kept
    assert line.meter.usage == Usage(
        requests=2,
        input_tokens=2 * usage["prompt_tokens"],
        output_tokens=2 * usage["completion_tokens"],
    )
    assert line.endpoint.scripted


def test_requests_that_are_refused(dial: Callable[..., tuple[Line, Client]]) -> None:
    line, client = dial()
    answers = [
        client.post(BODY, Authorization="Bearer wrong"),
        client.post(BODY, "/v1/responses"),
        client.post(b"{"),
        client.post(b"[]"),
        client.post(b'{"messages": [], "stream": true}'),
        client.post(b'{"messages": [1]}'),
        client.post(b'{"messages": [], "tools": [1]}'),
        client.post(b"", **{"Content-Length": str(33 << 20)}),
    ]
    assert [(status, data["error"]["message"]) for status, data in answers] == [
        (401, "the token is not that of this run"),
        (404, "this version of the gateway has: POST /v1/chat/completions"),
        (400, "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (400, "the request must be an object with a list of messages"),
        (400, "streaming is not supported by this version of the gateway"),
        (400, "each message must be an object"),
        (400, "each tool must be an object with a function that has a name"),
        (413, "a request may have 32 MiB"),
    ]
    assert line.meter.requests == 0


def test_an_error_of_the_backend_is_metered(dial: Callable[..., tuple[Line, Client]]) -> None:
    line, client = dial(policy="error:503")
    assert client.post(BODY)[0] == 503
    assert line.meter.requests == 1
    assert line.meter.fault == (
        Status.PROVIDER_ERROR,
        "the model answered 503: the scripted model answers 503, as told",
    )


class Broken:
    """A backend that raises what no backend should, once."""

    name = "broken"
    scripted = True
    asked = 0

    def reply(self, request: ChatRequest, closing: threading.Event) -> ChatReply:
        self.asked += 1
        if self.asked == 1:
            raise ZeroDivisionError("oh")
        return ChatReply(text="fine")


def test_a_bug_in_a_backend_ends_one_request(tmp_path: Path) -> None:
    endpoint = ModelEndpoint(name="x", socket=tmp_path / "s", token="t")
    meter = Meter()
    server = Server(endpoint, Broken(), meter)
    client = Client(endpoint)
    status, data = client.post(BODY)
    assert (status, data["error"]["message"]) == (
        500,
        "the broken backend raised ZeroDivisionError: oh",
    )
    assert client.post(BODY)[0] == 200
    assert meter.fault is None
    client.close()
    server.close()


def test_closing_ends_what_waits(dial: Callable[..., tuple[Line, Client]]) -> None:
    before = threading.active_count()
    with open_line(profile(policy="stall"), trial(), STEPS) as line:
        waiting, idle = Client(line.endpoint), Client(line.endpoint)
        waiting.request(
            "POST",
            "/v1/chat/completions",
            BODY,
            {"Authorization": f"Bearer {line.endpoint.token}"},
        )
        idle.connect()
        folder = line.endpoint.socket.parent
        assert folder.stat().st_mode & 0o777 == 0o700
        assert len(str(line.endpoint.socket)) < 100
    assert threading.active_count() == before
    assert not folder.exists()
    assert line.meter.fault is None
    waiting.close()
    idle.close()


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ((429, "", ""), Status.PROVIDER_ERROR),
        ((500, "", ""), Status.PROVIDER_ERROR),
        ((401, "", ""), Status.AUTH_ERROR),
        ((403, "", ""), Status.AUTH_ERROR),
        ((400, "", "context_length_exceeded"), Status.CONTEXT_EXHAUSTED),
        ((400, "This model's maximum context length is 8192 tokens", ""), Status.CONTEXT_EXHAUSTED),
        ((413, "prompt is too long: 201 tokens", ""), Status.CONTEXT_EXHAUSTED),
        ((400, "messages is missing", ""), None),
        ((404, "no such model", ""), None),
    ],
)
def test_what_an_answer_of_the_provider_means(
    answer: tuple[int, str, str], status: Status | None
) -> None:
    assert provider_status(*answer) is status
