"""The gateway: a process that serves each run its model."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Completed, Execution, ModelEndpoint, Usage
from pytest_agentbench.gateway.backend import Answer, ModelCall
from pytest_agentbench.gateway.chat import ChatReply, ChatRequest, Dialect, ToolCall
from pytest_agentbench.gateway.client import Gateway, OpenLine
from pytest_agentbench.gateway.dialects.registry import DIALECTS
from pytest_agentbench.gateway.line import Line
from pytest_agentbench.gateway.refusal import refused
from pytest_agentbench.gateway.report import CallReport, LineReport, provider_status
from pytest_agentbench.gateway.speaker import whole_answer
from pytest_agentbench.gateway.sse import Reader
from pytest_agentbench.outcome import classify
from pytest_agentbench.runtimes.protocol import RuntimeInfo
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trial import ModelProfile
from tests.made import STEPS, profile, trial
from tests.wire import Caller


def test_a_profile_of_no_known_backend(gateway: Gateway) -> None:
    with (
        pytest.raises(TrialFault) as caught,
        gateway.open_line(ModelProfile(name="gpt", backend="oracle"), trial(), STEPS),
    ):
        pass
    assert caught.value.status is Status.HARNESS_ERROR
    assert str(caught.value).startswith(
        "[tool.agentbench.models.gpt]: backend 'oracle' is not known; there are: scripted"
    )


class Client(Caller):
    """Sends requests with a token of the other form, and reads what comes."""

    @property
    def token(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.endpoint.token}"}

    def post(
        self, body: bytes, path: str = "/v1/chat/completions", **headers: str
    ) -> tuple[int, Any]:
        self.request("POST", path, body, self.token | headers)
        response = self.getresponse()
        return response.status, json.loads(response.read())


Dial = Callable[..., tuple[OpenLine, Client]]


@pytest.fixture
def dial(gateway: Gateway) -> Iterator[Dial]:
    """Opens a line to a scripted model with some options, and a client to it."""
    with ExitStack() as stack:

        def dial(url: str = "http://127.0.0.1:1", **options: Any) -> tuple[OpenLine, Client]:
            opened = gateway.open_line(profile(**options), trial(), STEPS, url=url)
            line = stack.enter_context(opened)
            client = Client(line.endpoint)
            stack.callback(client.close)
            return line, client

        yield dial


READS = {"type": "object", "properties": {"path": {"type": "string"}}}


def body(**more: Any) -> bytes:
    request = {
        "model": "toy",
        "messages": [{"role": "user", "content": "Do it."}],
        "tools": [{"type": "function", "function": {"name": "read", "parameters": READS}}],
    }
    return json.dumps(request | more).encode()


def test_a_request_over_the_socket(dial: Dial) -> None:
    line, client = dial()
    status, data = client.post(body())
    assert status == 200
    assert data["model"] == "toy"
    message = data["choices"][0]["message"]
    assert message["content"] == "First the notes."
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["read"]
    usage = data["usage"]
    assert client.post(body())[0] == 200  # the connection is kept
    report = line.report()
    counted = (report.usage.input_tokens, report.usage.output_tokens, report.usage.requests)
    assert counted == (2 * usage["prompt_tokens"], 2 * usage["completion_tokens"], 2)
    assert (report.requests, report.fault, line.endpoint.scripted) == (2, None, True)
    assert [(call.dialect, call.status, call.tools) for call in report.calls] == [
        ("chat", 200, ("read",))
    ] * 2


def test_a_stream_is_metered_like_the_whole(dial: Dial) -> None:
    line, client = dial()
    client.post(body())
    client.request("POST", "/v1/chat/completions", body(stream=True), client.token)
    response = client.getresponse()
    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.read().endswith(b"data: [DONE]\n\n")
    whole, streamed = line.report().calls
    assert (whole.streamed, streamed.streamed) == (False, True)
    assert streamed.usage == whole.usage


def test_a_port_of_the_host_where_no_sandbox_forwards(dial: Dial) -> None:
    line, _ = dial(url="")
    address = line.endpoint.url.removeprefix("http://")
    connection = http.client.HTTPConnection(address)
    connection.request("POST", "/v1/chat/completions", body())
    assert connection.getresponse().status == 401
    connection.close()
    connection.request("POST", "/v1/chat/completions", body(), {"x-api-key": line.endpoint.token})
    assert connection.getresponse().status == 200
    connection.close()


def test_requests_that_are_refused(dial: Dial) -> None:
    line, client = dial()
    answers = [
        client.post(body(), Authorization="Bearer wrong"),
        client.post(body(), "/v1/embeddings"),
        client.post(b"{"),
        client.post(b"[]"),
        client.post(b'{"messages": [1]}'),
        client.post(b'{"messages": [], "tools": [1]}'),
    ]
    known = "chat/completions, responses, messages, models/MODEL:generateContent"
    assert [(status, data["error"]["message"]) for status, data in answers] == [
        (401, "the token is not that of this run"),
        (404, f"the gateway has no POST /v1/embeddings; it has POST .../{known}"),
        (400, "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (400, "a request must be an object"),
        (400, "messages must be a list of objects"),
        (400, "tools must be a list of objects"),
    ]
    assert line.report().requests == 0


def test_a_request_that_is_too_large(dial: Dial) -> None:
    _, client = dial()
    client.putrequest("POST", "/v1/chat/completions")
    client.putheader("Content-Length", str(1 << 30))
    client.endheaders()

    def send_all() -> None:
        for _ in range(1 << 10):
            client.send(bytes(1 << 20))

    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        send_all()


def test_what_clients_ask_beside_model_calls(dial: Dial) -> None:
    _, client = dial()
    client.request("GET", "/v1/models", headers=client.token)
    data = json.loads(client.getresponse().read())
    assert [model["id"] for model in data["data"]] == ["toy"]
    assert client.post(b"x" * 400, "/v1/messages/count_tokens") == (200, {"input_tokens": 100})
    assert client.post(b"x" * 400, "/v1beta/models/m:countTokens") == (200, {"totalTokens": 100})


DECLINED = ChatReply(refusal="I will not.")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_refusal_is_known_in_every_dialect(dialect: Dialect, stream: bool) -> None:
    asked = ChatRequest(model="m", messages=(), stream=stream)

    def known(reply: ChatReply) -> bool:
        if not stream:
            return refused(dialect.reply(asked, reply))
        events = Reader().feed(b"".join(dialect.stream(asked, reply)))
        return any(refused(event) for event in events if isinstance(event, dict))

    assert known(DECLINED)
    call = ToolCall(id="a", name="refusal", args={"type": "refusal", "refusal": "SAFETY"})
    assert not known(ChatReply(text="refusal", calls=(call,)))


def test_an_error_of_the_backend_is_metered(dial: Dial) -> None:
    line, client = dial(policy="error:503")
    assert client.post(body())[0] == 503
    report = line.report()
    assert report.requests == 1
    assert report.fault == (
        Status.PROVIDER_ERROR,
        "the model answered 503: the scripted model answers 503, as told",
    )


class Broken:
    """A backend that raises what no backend should, once."""

    name = "broken"
    scripted = True
    asked = 0

    async def answer(self, call: ModelCall) -> Answer:
        self.asked += 1
        if self.asked == 1:
            raise ZeroDivisionError("oh")
        return whole_answer(200, "{}")


def test_a_bug_in_a_backend_ends_one_request(tmp_path: Path) -> None:
    endpoint = ModelEndpoint(name="x", socket=tmp_path / "s", token="t")

    async def main() -> tuple[Any, Any, LineReport]:
        line = Line(Broken(), model="x", token="t")
        await line.listen(endpoint.socket, tcp=False)
        client = Client(endpoint)
        answers = [await asyncio.to_thread(client.post, body()) for _ in range(2)]
        client.close()
        await line.close()
        return answers[0], answers[1], line.meter.report()

    first, second, report = asyncio.run(main())
    assert (first[0], first[1]["error"]["message"]) == (
        500,
        "the broken backend raised ZeroDivisionError: oh",
    )
    assert second == (200, {})
    assert report.fault is None


class Late:
    """Has something to say still when the client has gone."""

    name = "late"
    scripted = True

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    async def answer(self, call: ModelCall) -> Answer:
        return Answer(status=200, content_type="text/event-stream", pieces=self.pieces())

    async def pieces(self) -> AsyncIterator[bytes]:
        try:
            yield b'data: {"model": "x", "choices": []}\n\n'
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
            yield b"data: {}\n\n"
        finally:
            self.ended.set()


def test_a_runtime_that_leaves_in_an_answer_is_no_fault_of_the_backends(tmp_path: Path) -> None:
    endpoint = ModelEndpoint(name="x", socket=tmp_path / "s", token="t")

    async def main() -> LineReport:
        backend = Late()
        line = Line(backend, model="x", token="t")
        await line.listen(endpoint.socket, tcp=False)
        caller = Caller(endpoint)
        asked = caller.ask, "/v1/chat/completions", body(stream=True)
        response = await asyncio.to_thread(*asked)
        await asyncio.to_thread(response.read, 1)
        response.close()
        caller.close()
        await backend.ended.wait()
        await asyncio.sleep(0)
        await line.close()
        return line.meter.report()

    report = asyncio.run(main())
    assert (report.fault, report.waiting) == (None, 0.0)
    (call,) = report.calls
    assert (call.status, call.message, call.cut) == (200, "", False)


def test_the_end_of_a_line_ends_what_waits(gateway: Gateway) -> None:
    with gateway.open_line(profile(policy="stall"), trial(), STEPS) as line:
        waiting, idle = Client(line.endpoint), Client(line.endpoint)
        waiting.request("POST", "/v1/chat/completions", body(), waiting.token)
        idle.connect()
        folder = line.endpoint.socket.parent
        assert folder.stat().st_mode & 0o777 == 0o700
        assert len(str(line.endpoint.socket)) < 100
        while not line.report().waiting:
            continue
        assert line.report().fault is None
    with pytest.raises((OSError, http.client.HTTPException)):
        waiting.getresponse()
    assert idle.sock.recv(1) == b""
    assert not folder.exists()
    waiting.close()
    idle.close()


def await_refusal(address: str | tuple[str, int]) -> None:
    """Until nobody listens there any more."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    while True:
        with socket.socket(family) as client:
            try:
                client.connect(address)
            except ConnectionRefusedError:
                return


def test_a_line_ends_with_its_worker(gateway: Gateway, tmp_path: Path) -> None:
    """However that ends: nobody else could close it."""
    script = f"""
import time
from pathlib import Path
from pytest_agentbench.gateway.client import Gateway
from tests.made import STEPS, profile, trial
with Gateway(Path({str(gateway.control)!r})).open_line(profile(), trial(), STEPS) as line:
    print(line.endpoint.url, flush=True)
    time.sleep(60)
"""
    worker = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parent.parent,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert worker.stdout
    port = int(worker.stdout.readline().rpartition(b":")[2])
    socket.create_connection(("127.0.0.1", port)).close()
    worker.kill()
    worker.wait()
    worker.stdout.close()
    await_refusal(("127.0.0.1", port))


def test_a_gateway_ends_with_its_controller(tmp_path: Path) -> None:
    script = """
import os, signal
from pytest_agentbench.gateway.client import gateway
with gateway() as started:
    started._await()
    print(started.control, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=False,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert done.returncode == -signal.SIGKILL
    await_refusal(done.stdout.decode().strip())


def test_a_gateway_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "control").touch()
    with (
        pytest.raises(TrialFault) as caught,
        Gateway(tmp_path / "control").open_line(profile(), trial(), STEPS),
    ):
        pass
    assert caught.value.status is Status.HARNESS_ERROR
    assert str(caught.value) == ("the model gateway is not there: [Errno 111] Connection refused")


def test_a_gateway_that_goes_while_a_run_is_served() -> None:
    service = (
        "import sys; from pytest_agentbench.gateway.client import gateway\nwith gateway() as g:"
    )
    with subprocess.Popen(
        [sys.executable, "-c", f"{service} print(g.control, flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        served = Gateway(Path(owner.stdout.readline().strip()))
        with pytest.raises(TrialFault) as caught:  # not what closing the connection says
            ask_until_it_is_gone(served, owner)
    assert caught.value.status is Status.HARNESS_ERROR
    assert str(caught.value) == "the model gateway is not there: [Errno 32] Broken pipe"


def ask_until_it_is_gone(gateway: Gateway, owner: subprocess.Popen[str]) -> None:
    with gateway.open_line(profile(), trial(), STEPS) as line:
        owner.kill()
        with contextlib.suppress(TrialFault):  # the end of what it says
            while line.report():
                pass
        line.report()


def test_a_report_survives_json() -> None:
    call = CallReport(dialect="chat", model="m", started=0.5, usage=Usage(input_tokens=3))
    report = LineReport(requests=1, calls=(call,), last=call, first_request={"tools": ["read"]})
    assert LineReport.from_json(json.loads(json.dumps(report.to_json()))) == report


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


@pytest.mark.parametrize(
    ("refusals", "timed_out", "status"),
    [
        (2, True, Status.AGENT_TIMEOUT),
        (3, True, Status.REFUSAL),
        (3, False, Status.COMPLETED),
        (0, True, Status.AGENT_TIMEOUT),
    ],
)
def test_a_runtime_that_asks_on_after_refusals_was_refused(
    refusals: int, timed_out: bool, status: Status
) -> None:
    done = Completed(exit_code=0, timed_out=timed_out, seconds=20.0)
    answered = CallReport(dialect="chat", started=0.0, status=200)
    line = LineReport(requests=9, last=answered, refusals=refusals)
    said = Execution(status=Status.COMPLETED)
    found, message = classify(done, said, RuntimeInfo(), line)
    assert found is status
    if status is Status.REFUSAL:
        assert message == (
            "the model declined 3 times in a row, and was asked again until the time limit, after "
            "20.0 s"
        )


def test_refusals_are_counted_up_to_the_last_answer(gateway: Gateway) -> None:
    with gateway.open_line(profile(policy="refuse"), trial(), STEPS) as line:
        client = Client(line.endpoint)
        for _ in range(4):
            client.post(body())
        client.close()
        assert line.report().refusals == 4
        assert LineReport.from_json(line.report().to_json()).refusals == 4


@pytest.mark.parametrize(
    ("reported", "differs"),
    [
        (Usage(), False),
        (Usage(input_tokens=110, output_tokens=5), False),
        (Usage(input_tokens=100, cache_read_tokens=10, output_tokens=5), False),
        (Usage(input_tokens=100, output_tokens=5), True),
        (Usage(output_tokens=6), True),
    ],
)
def test_a_runtimes_own_count_is_compared_where_both_know(reported: Usage, differs: bool) -> None:
    seen = LineReport(usage=Usage(input_tokens=100, cache_read_tokens=10, output_tokens=5))
    assert seen.differs(reported) is differs
    assert not LineReport().differs(reported)
