"""The upstream backend: what reaches a provider, and what comes back, over real sockets."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from pytest_agentbench.execution import Usage
from pytest_agentbench.gateway.chat import ChatReply
from pytest_agentbench.gateway.client import Gateway, OpenLine
from pytest_agentbench.gateway.client import gateway as started_gateway
from pytest_agentbench.gateway.dialects.registry import DIALECTS
from pytest_agentbench.gateway.registry import make_model
from pytest_agentbench.status import Status
from pytest_agentbench.trial import ModelProfile, ProfileError
from tests.made import profile
from tests.project import Project
from tests.provider import FakeProvider, provider, streamed
from tests.wire import WIRES, Caller, Wire, trial

KEY = "sk-very-secret-0123456789"
EACH = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
Dial = Callable[..., tuple[OpenLine, Caller]]


@pytest.fixture(scope="module")
def keeper() -> Iterator[Gateway]:
    """A gateway with a key in its environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAB_KEY", f" {KEY}\n")
        with started_gateway() as started:
            # It must have its environment before this one changes.
            with started.open_line(profile(), trial(), (), url="x"):
                pass
            yield started


@pytest.fixture(scope="module")
def running() -> Iterator[FakeProvider]:
    with provider() as made:
        yield made


@pytest.fixture
def lab(running: FakeProvider) -> FakeProvider:
    running.asked.clear()
    running.handler = None
    return running


@pytest.fixture
def dial(keeper: Gateway, lab: FakeProvider) -> Iterator[Dial]:
    """Opens a line to the provider, and a client to it."""
    with ExitStack() as stack:

        def dial(**options: Any) -> tuple[OpenLine, Caller]:
            made = profile("upstream", **{"base_url": lab.base_url, "key_env": "LAB_KEY"} | options)
            line = stack.enter_context(keeper.open_line(made, trial(), (), url="x"))
            caller = Caller(line.endpoint)
            stack.callback(caller.close)
            return line, caller

        yield dial


def dialect_of(wire: Wire) -> Any:
    return next(dialect for dialect in DIALECTS if WIRES[dialect.name] is wire)


def good(wire: Wire) -> bytes:
    """A whole answer of the dialect's."""
    dialect = dialect_of(wire)
    request = dialect.request(wire.path, wire.body)
    usage = Usage(input_tokens=7, output_tokens=3)
    return json.dumps(dialect.reply(request, ChatReply(text="ünï", usage=usage))).encode()


def pieces(wire: Wire) -> list[bytes]:
    dialect = dialect_of(wire)
    request = dialect.request(wire.path, wire.body)
    usage = Usage(input_tokens=7, output_tokens=3)
    return list(dialect.stream(request, ChatReply(text="ünï", usage=usage)))


@EACH
def test_what_reaches_the_provider(dial: Dial, lab: FakeProvider, wire: Wire) -> None:
    lab.answers(good(wire))
    line, caller = dial(
        base_url=f"http://127.0.0.1:{lab.port}/lab/v9/",
        model="real/name-1",
        headers={"X-Lab": "a"},
        params={"temperature": 0},
    )
    path, body = wire.request(False, temperature=1, generationConfig={"topK": 3})
    headers = {"anthropic-beta": "b", "User-Agent": "me", "Authorization": f"Bearer {KEY[::-1]}"}
    response = caller.ask(f"{path}?key={line.endpoint.token}&beta=true", body, **headers)
    assert (response.status, response.read()) == (200, good(wire))
    (asked,) = lab.asked
    tail = {
        "/v1/chat/completions": "/chat/completions",
        "/v1/responses": "/responses",
        "/v1/messages": "/messages",
        "/v1beta/models/toy:generateContent": "/models/real%2Fname-1:generateContent",
    }
    assert asked.path == f"/lab/v9{tail[path]}?beta=true".replace("%2F", "/")
    sent = dict(json.loads(body))
    if wire is WIRES["gemini"]:
        sent["generationConfig"] = {"topK": 3, "temperature": 0}
    else:
        sent |= {"model": "real/name-1", "temperature": 0}
    assert asked.body == sent
    key = {name: value for name, value in asked.headers.items() if KEY in value}
    assert key == {k.lower(): v for k, v in dialect_of(wire).key_headers(KEY).items()}
    assert (asked.headers["x-lab"], asked.headers["anthropic-beta"]) == ("a", "b")
    assert line.endpoint.token not in json.dumps([asked.path, asked.headers])
    report = line.report()
    assert (report.usage.input_tokens, report.usage.output_tokens) == (7, 3)
    assert report.backend == {
        "name": "upstream",
        "base_url": f"http://127.0.0.1:{lab.port}/lab/v9",
        "model": "real/name-1",
        "params": {"temperature": 0},
    }
    assert not line.endpoint.scripted


@EACH
def test_a_stream_is_passed_through_as_it_comes(dial: Dial, lab: FakeProvider, wire: Wire) -> None:
    first, *rest = pieces(wire)
    go_on, release = lab.event()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = await streamed(request, first)
        await go_on.wait()
        for piece in rest:
            # Not along the borders of events.
            await response.write(piece[:5])
            await response.write(piece[5:])
        await response.write_eof()
        return response

    lab.handler = handler
    line, caller = dial()
    more = {"stream_options": {"include_usage": True}} if wire is WIRES["chat"] else {}
    response = caller.ask(*wire.request(True, **more))
    assert response.read(len(first)) == first  # and nothing else has been sent
    release()
    assert response.read() == b"".join(rest)
    (call,) = line.report().calls
    assert call.usage
    assert (call.usage.input_tokens, call.usage.output_tokens) == (7, 3)
    assert (call.streamed, call.cut, call.status) == (True, False, 200)


def test_usage_is_asked_for_and_hidden_from_who_did_not_ask(dial: Dial, lab: FakeProvider) -> None:
    wire = WIRES["chat"]
    *said, usage, end = pieces(wire)
    assert b'"choices": []' in usage

    async def handler(request: web.Request) -> web.StreamResponse:
        # As some servers end their lines, and all in a piece.
        body = b"".join([*said, usage, end]).replace(b"\n", b"\r\n")
        return await streamed(request, body)

    lab.handler = handler
    line, caller = dial()
    response = caller.ask(*wire.request(True, stream_options={"x": 1}))
    assert response.read().replace(b"\r\n", b"\n") == b"".join([*said, end])
    assert lab.asked[0].body["stream_options"] == {"x": 1, "include_usage": True}
    (call,) = line.report().calls
    assert call.usage
    assert call.usage.output_tokens == 3


@EACH
def test_an_error_of_the_provider_reaches_the_client(
    dial: Dial, lab: FakeProvider, wire: Wire
) -> None:
    body = dialect_of(wire).error(429, f"slow down, {KEY}", "rate_limit_exceeded")
    shown = json.dumps(body | {"request_id": "r1"}, indent=3).encode()
    lab.answers(shown, 429, **{"Retry-After": "17", "Set-Cookie": "a=b"})
    line, caller = dial()
    response = caller.ask(*wire.request(True))
    assert (response.status, response.headers["Retry-After"]) == (429, "17")
    assert "Set-Cookie" not in response.headers
    assert response.read() == shown.replace(KEY.encode(), b"[key]")
    report = line.report()
    assert report.fault == (Status.PROVIDER_ERROR, "the model answered 429: slow down, [key]")
    assert report.last
    assert report.last.code
    lab.answers(good(wire))
    assert caller.ask(*wire.request(False)).read() == good(wire)
    assert line.report().fault is None


def test_an_error_that_is_no_json_is_put_into_the_dialects_words(
    dial: Dial, lab: FakeProvider
) -> None:
    lab.answers(b"<h1>Bad\n gateway</h1>" + bytes(1 << 20), 502, **{"Content-Type": "text/html"})
    line, caller = dial()
    response = caller.ask(*WIRES["messages"].request(False))
    said = json.loads(response.read())
    assert (response.status, said["type"], said["error"]["type"]) == (502, "error", "api_error")
    assert said["error"]["message"].startswith("<h1>Bad gateway</h1>")
    fault = line.report().fault
    assert fault
    assert fault[0] is Status.PROVIDER_ERROR
    assert fault[1].startswith("the model answered 502: <h1>Bad gateway</h1>")


@pytest.mark.parametrize(
    ("status", "message", "code", "meaning"),
    [
        (401, "no such key", "invalid_api_key", Status.AUTH_ERROR),
        (400, "This model's maximum context length is 8", "", Status.CONTEXT_EXHAUSTED),
        (400, "you said nothing", "", None),
        (503, "busy", "", Status.PROVIDER_ERROR),
    ],
)
def test_what_an_error_means(
    dial: Dial, lab: FakeProvider, status: int, message: str, code: str, meaning: Status | None
) -> None:
    error = {"error": {"message": message, "code": code}}
    lab.answers(json.dumps(error).encode(), status)
    line, caller = dial()
    assert caller.ask(*WIRES["chat"].request(False)).status == status
    fault = line.report().fault
    assert fault == ((meaning, f"the model answered {status}: {message}") if meaning else None)


@EACH
@pytest.mark.parametrize("status", [429, 500, 400])
def test_an_error_in_a_stream_that_began_well(
    dial: Dial, lab: FakeProvider, wire: Wire, status: int
) -> None:
    first, code = pieces(wire)[0], {429: "rate_limit_exceeded", 400: "context_length_exceeded"}
    error = dialect_of(wire).stream_error(status, "sorry", code.get(status, ""))

    async def handler(request: web.Request) -> web.StreamResponse:
        return await streamed(request, first, error)

    lab.handler = handler
    line, caller = dial()
    assert caller.ask(*wire.request(True)).read() == first + error
    fault = line.report().fault
    assert fault
    assert fault[0] is (Status.CONTEXT_EXHAUSTED if status == 400 else Status.PROVIDER_ERROR)
    assert fault[1].endswith("sorry")


def test_a_stream_that_breaks_off(dial: Dial, lab: FakeProvider) -> None:
    first = pieces(WIRES["chat"])[0]

    async def handler(request: web.Request) -> web.StreamResponse:
        response = await streamed(request, first)
        assert request.transport
        request.transport.close()
        return response

    lab.handler = handler
    line, caller = dial()
    response = caller.ask(*WIRES["chat"].request(True))
    with pytest.raises(http.client.IncompleteRead) as caught:
        response.read()
    assert caught.value.partial == first
    assert line.report().fault == (
        Status.PROVIDER_ERROR,
        (
            f"the model's answer is of no use: 127.0.0.1:{lab.port} closed the connection before "
            "its answer was whole"
        ),
    )


def test_a_stream_that_ends_early(dial: Dial, lab: FakeProvider) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return await streamed(request, pieces(WIRES["messages"])[0])

    lab.handler = handler
    line, caller = dial()
    caller.ask(*WIRES["messages"].request(True)).read()
    assert line.report().fault == (
        Status.PROVIDER_ERROR,
        "the model's answer is of no use: it ended in the middle",
    )


def test_an_answer_that_breaks_off(dial: Dial, lab: FakeProvider) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"{")
        assert request.transport
        request.transport.close()
        return response

    lab.handler = handler
    line, caller = dial()
    response = caller.ask(*WIRES["chat"].request(False))
    problem = f"127.0.0.1:{lab.port} closed the connection before its answer was whole"
    assert (response.status, json.loads(response.read())["error"]["message"]) == (502, problem)
    assert line.report().fault == (Status.PROVIDER_ERROR, f"the model answered 502: {problem}")


def test_garbage(dial: Dial, lab: FakeProvider) -> None:
    lab.answers(b"\x00\xff not JSON")
    line, caller = dial()
    assert caller.ask(*WIRES["chat"].request(False)).read() == b"\x00\xff not JSON"
    assert line.report().fault == (
        Status.PROVIDER_ERROR,
        "the model's answer is of no use: it is no JSON",
    )


def test_a_provider_that_says_nothing(dial: Dial, lab: FakeProvider) -> None:
    over, release = lab.event()

    async def handler(request: web.Request) -> web.StreamResponse:
        await over.wait()
        return web.Response()

    lab.handler = handler
    line, caller = dial(timeout=0.1)
    response = caller.ask(*WIRES["chat"].request(True))
    problem = f"no word from 127.0.0.1:{lab.port} for 0.1 s"
    assert (response.status, json.loads(response.read())["error"]["message"]) == (504, problem)
    assert line.report().fault == (Status.PROVIDER_ERROR, f"the model answered 504: {problem}")
    release()


def test_a_provider_that_falls_silent(dial: Dial, lab: FakeProvider) -> None:
    over, release = lab.event()
    first = pieces(WIRES["chat"])[0]

    async def handler(request: web.Request) -> web.StreamResponse:
        response = await streamed(request, first)
        await over.wait()
        return response

    lab.handler = handler
    line, caller = dial(timeout=0.1)
    with pytest.raises(http.client.IncompleteRead):
        caller.ask(*WIRES["chat"].request(True)).read()
    fault = line.report().fault
    assert fault
    assert fault[1].endswith(f": no word from 127.0.0.1:{lab.port} for 0.1 s")
    release()


def test_a_provider_that_is_not_there(dial: Dial, lab: FakeProvider) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        line, caller = dial(base_url=f"http://{place}/v1")
        response = caller.ask(*WIRES["gemini"].request(False))
        problem = f"{place} cannot be reached: Connect call failed ('127.0.0.1', {place[10:]})"
        assert (response.status, json.loads(response.read())["error"]["message"]) == (502, problem)
        assert line.report().fault == (Status.PROVIDER_ERROR, f"the model answered 502: {problem}")


def test_a_provider_of_no_known_name(dial: Dial) -> None:
    line, caller = dial(base_url="https://lab.invalid/v1")
    assert caller.ask(*WIRES["chat"].request(False)).status == 502
    fault = line.report().fault
    assert fault
    assert fault[1].startswith("the model answered 502: lab.invalid is no known name: ")


def test_a_provider_that_speaks_no_tls(dial: Dial, lab: FakeProvider) -> None:
    line, caller = dial(base_url=f"https://127.0.0.1:{lab.port}/v1")
    assert caller.ask(*WIRES["chat"].request(False)).status == 502
    fault = line.report().fault
    assert fault
    assert fault[1].startswith(f"the model answered 502: 127.0.0.1:{lab.port} cannot be reached: ")


def test_a_redirection_is_not_followed(dial: Dial, lab: FakeProvider) -> None:
    lab.answers(b"", 307, Location="https://elsewhere.invalid/")
    _, caller = dial()
    response = caller.ask(*WIRES["chat"].request(False))
    assert (response.status, json.loads(response.read())["error"]["message"]) == (
        502,
        (
            f"127.0.0.1:{lab.port} sends us on to https://elsewhere.invalid/: base_url must be "
            "its final address"
        ),
    )
    assert len(lab.asked) == 1


def test_a_client_that_leaves_ends_the_providers_work(dial: Dial, lab: FakeProvider) -> None:
    gone = threading.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = await streamed(request, pieces(WIRES["chat"])[0])
        while request.transport and not request.transport.is_closing():
            await asyncio.sleep(0.01)
        gone.set()
        return response

    lab.handler = handler
    _, caller = dial()
    caller.ask(*WIRES["chat"].request(True)).read(1)
    caller.close()
    assert gone.wait(30)


def test_faults_go_with_every_backend(dial: Dial, lab: FakeProvider) -> None:
    lab.answers(good(WIRES["chat"]))
    _, caller = dial(fault={"kind": 429, "first": 1})
    assert [caller.ask(*WIRES["chat"].request(False)).read() for _ in range(2)][1] == good(
        WIRES["chat"]
    )
    assert len(lab.asked) == 1


def test_the_key_is_in_nothing_that_a_run_can_see(
    keeper: Gateway, dial: Dial, lab: FakeProvider, tmp_path: Path
) -> None:
    lab.answers(good(WIRES["chat"]))
    line, caller = dial()
    caller.ask(*WIRES["chat"].request(False)).read()
    seen = [json.dumps(line.report().to_json()), repr(line.endpoint)]
    seen += [
        path.read_text("utf-8", "replace")
        for path in keeper.control.parent.rglob("*")
        if path.is_file()
    ]
    made = make_model(profile("upstream", base_url=lab.base_url, key_env="LAB_KEY"))
    seen.append(json.dumps(made.spec(trial(), ())))
    assert made.needs == ("LAB_KEY",)
    assert KEY not in "".join(seen)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"base": "x"},
            (
                "unknown option 'base'; allowed: provider, base_url, model, key_env, headers, "
                "timeout, params, fault, faults"
            ),
        ),
        (
            {"model": "gpt-x"},
            (
                "it needs base_url, the address of the provider as far as what stands before "
                "/chat/completions, or provider, one of openai, anthropic, gemini"
            ),
        ),
        (
            {"provider": "opnai"},
            "provider 'opnai' is not known; allowed: openai, anthropic, gemini",
        ),
        (
            {"base_url": "lab.example/v1"},
            "base_url must be an address as https://HOST/v1, not 'lab.example/v1'",
        ),
        (
            {"base_url": "https://lab.example:99999/v1"},
            "base_url must be an address as https://HOST/v1, not 'https://lab.example:99999/v1'",
        ),
        (
            {"base_url": "https://me:word@lab.example/v1"},
            (
                "base_url must have neither user nor password, and nothing after the path; a key "
                "belongs into the environment variable that key_env names"
            ),
        ),
        (
            {"base_url": "http://lab.example/v1", "key_env": "LAB_KEY"},
            (
                "base_url is http: the key in LAB_KEY would be sent in the clear; give an https "
                'address, or key_env = "" for a server that wants no key'
            ),
        ),
        (
            {"provider": "openai", "key_env": KEY},
            (
                "key_env must be the name of the environment variable that holds the key, not the "
                "key"
            ),
        ),
        (
            {"provider": "openai", "model": ""},
            "model must be the provider's name of a model, not ''",
        ),
        (
            {"provider": "openai", "timeout": 0},
            "timeout must be a number of seconds above 0, not 0",
        ),
        (
            {"provider": "openai", "headers": {"X-API-Key": "abc"}},
            ("headers.X-API-Key: a key belongs into the environment variable that key_env names"),
        ),
        (
            {"provider": "openai", "headers": {"X-A": "a\nb"}},
            "headers.X-A must be a line of ASCII text, not 'a\\nb'",
        ),
        (
            {"provider": "openai", "headers": {"X A": "a"}},
            "headers: 'X A' is no name of a header",
        ),
        ({"provider": "openai", "params": 3}, "params must be a table, not 3"),
        (
            {"provider": "openai", "params": {"stream": False}},
            "params.stream is the runtime's to say; params are settings such as temperature",
        ),
    ],
)
def test_a_profile_that_makes_no_sense(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ProfileError) as caught:
        make_model(profile("upstream", **options))
    assert str(caught.value) == f"[tool.agentbench.models.toy]: {problem}"
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("name", ["openai", "anthropic", "gemini"])
def test_a_known_provider_needs_no_address(name: str) -> None:
    made = make_model(ModelProfile(name="m-1", backend="upstream", options={"provider": name}))
    spec = made.spec(trial(), ())
    assert spec["base_url"].startswith("https://")
    assert spec["model"] == "m-1"
    assert made.needs == (f"{name.upper()}_API_KEY",)


def test_a_model_that_is_no_profile(project: Project) -> None:
    result = project.run("scenarios", "--runtime=minimal", "--model=gpt-4.1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.errlines[:4] == [
        (
            "ERROR: --model: 'gpt-4.1' is not known; allowed: scripted; no pyproject.toml with "
            "[tool.agentbench] was found. A provider's model needs a table, for example:"
        ),
        '    [tool.agentbench.models."gpt-4.1"]',
        '    backend = "upstream"',
        '    provider = "openai"',
    ]


def test_the_models_that_there_are_are_told(project: Project) -> None:
    project.write(
        "pyproject.toml",
        "[tool.agentbench.models.small]\nbackend = 'scripted'\n"
        "[tool.agentbench.runtimes.mine]\nadapter = 'minimal'\nmodel = 'smal'\n",
    )
    known = (
        "'smal' is not known (did you mean 'small'?); allowed: scripted, small; "
        "read: pyproject.toml. A provider's model needs a table, for example:"
    )
    for where, args in (
        ("--model", ["--runtime=minimal", "--model=smal"]),
        ("--judge", ["--runtime=oracle", "--judge=smal"]),
        ("pyproject.toml: [tool.agentbench.runtimes.mine]: model", ["--runtime=mine"]),
    ):
        result = project.run("scenarios", *args)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert result.errlines[0] == f"ERROR: {where}: {known}"


def test_a_table_without_an_address_is_not_called_missing(project: Project) -> None:
    project.write("pyproject.toml", "[tool.agentbench.models.up]\nbackend = 'upstream'\n")
    result = project.run("scenarios", "--runtime=minimal", "--model=up")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.errlines[0] == (
        "ERROR: [tool.agentbench.models.up]: it needs base_url, the address of the provider as far "
        "as what stands before /chat/completions, or provider, one of openai, anthropic, gemini"
    )


def test_a_key_that_is_missing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAB_KEY", raising=False)
    project.write(
        "pyproject.toml",
        "[tool.agentbench.models.lab]\nbackend = 'upstream'\n"
        "base_url = 'https://lab.example/v1'\nkey_env = 'LAB_KEY'\n",
    )
    asked = ("scenarios", "--runtime=minimal", "--model=lab")
    result = project.run(*asked)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.errlines[0] == (
        "ERROR: [tool.agentbench.models.lab]: the environment variable LAB_KEY is not set; set it "
        "to the provider's key where pytest is started, or name another with key_env"
    )
    assert project.run(*asked, "--collect-only").ret == pytest.ExitCode.OK


def test_a_run_with_a_provider(
    project: Project, lab: FakeProvider, monkeypatch: pytest.MonkeyPatch, workers: list[str]
) -> None:
    """The whole way: the agent is in its sandbox, the key in the gateway alone."""
    monkeypatch.setenv("LAB_KEY", KEY)
    dialect = dialect_of(WIRES["chat"])

    async def handler(request: web.Request) -> web.StreamResponse:
        asked = dialect.request("", await request.json())
        return web.json_response(dialect.reply(asked, ChatReply(text="done")))

    lab.handler = handler
    project.write(
        "pyproject.toml",
        f"[tool.agentbench.models.lab]\nbackend = 'upstream'\nbase_url = '{lab.base_url}'\n"
        "key_env = 'LAB_KEY'\nmodel = 'lab-1'\n",
    )
    project.bench("--model=lab", *workers, runtime="minimal").assert_outcomes(failed=1)
    assert {asked.body["model"] for asked in lab.asked} == {"lab-1"}
    (record,) = project.records()
    assert (record["status"], record["model"], record["scripted"]) == ("completed", "lab", False)
    files = [path for path in (project.path / "run").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
