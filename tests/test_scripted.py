"""The scripted model: what it plays, and how the gateway serves it."""

from __future__ import annotations

import hashlib
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
from pytest_agentbench.gateway.chat import BackendError, ChatReply, ChatRequest, ToolOffer
from pytest_agentbench.gateway.meter import Meter, provider_status
from pytest_agentbench.gateway.registry import make_model
from pytest_agentbench.gateway.scripted import Script, ScriptedModel
from pytest_agentbench.gateway.server import Line, Server, open_line
from pytest_agentbench.scenario.model import Probe, Scenario, Step
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trial import ModelProfile, Phase, ProfileError, RuntimeProfile, Trial

STEPS = (
    Step(verb="say", text="First the notes."),
    Step(verb="read", path="notes.txt"),
    Step(verb="exec", argv=("sort", "a b.txt")),
    Step(verb="write", path="out.txt", content="done"),
    Step(verb="say", text="Written."),
)
OFFER = (
    ToolOffer(name="read", parameters=("path",)),
    ToolOffer(name="write", parameters=("path", "content")),
    ToolOffer(name="exec", parameters=("command",)),
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


def request(results: int = 0, tools: tuple[ToolOffer, ...] = OFFER) -> ChatRequest:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Do it."}]
    messages += [{"role": "tool", "content": "ok"}] * results
    return ChatRequest(model="toy", messages=tuple(messages), tools=tools)


def reply(script: Any, results: int = 0) -> ChatReply:
    answer = script.reply(request(results), threading.Event())
    assert isinstance(answer, ChatReply)
    return answer


def test_each_step_is_one_call_and_its_place_is_the_number_of_results() -> None:
    script = Script(steps=STEPS)
    turns = [reply(script, results) for results in (0, 1, 2, 3)]
    assert [turn.text for turn in turns] == ["First the notes.", "", "", "Written."]
    assert [[(call.name, call.args) for call in turn.calls] for turn in turns] == [
        [("read", {"path": "notes.txt"})],
        [("exec", {"command": "sort 'a b.txt'"})],
        [("write", {"path": "out.txt", "content": "done"})],
        [],
    ]
    assert turns[1] == reply(script, 1)


def test_it_closes_with_a_text_of_its_own_when_the_steps_have_none() -> None:
    assert reply(Script(steps=STEPS[1:2]), 1).text == "All done."


def test_argv_is_used_where_the_tool_takes_it() -> None:
    script = Script(steps=(Step(verb="exec", argv=("ls", "-l")),))
    offer = (ToolOffer(name="exec", parameters=("argv", "command")),)
    calls = script.reply(request(0, offer), threading.Event()).calls
    assert calls[0].args == {"argv": ["ls", "-l"]}


def test_a_tool_that_is_not_offered_is_an_error() -> None:
    script = Script(steps=(Step(verb="edit", path="x", old="a", new="b"),))
    with pytest.raises(BackendError) as caught:
        reply(script)
    assert (caught.value.status, caught.value.message) == (
        501,
        "the script needs a tool 'edit'; offered: read, write, exec",
    )


def test_tokens_are_a_quarter_of_the_characters() -> None:
    answer = reply(Script(steps=STEPS[1:2]))
    assert answer.input_tokens == -(-len('[{"role": "user", "content": "Do it."}]') // 4)
    assert answer.output_tokens == -(-len('{"path": "notes.txt"}') // 4)


CHANCES = {"easy": 0.95, "medium": 0.8, "hard": 0.5, "expert": 0.25}


def test_solving_follows_the_draw() -> None:
    model = ScriptedModel.of(profile(seed=3, solve=CHANCES))
    wrong = (Step(verb="say", text="wrong"),)
    solved = 0
    for index in range(1, 201):
        digest = hashlib.sha256(f"3|demo|{index}".encode()).hexdigest()
        draw = int(digest[:12], 16) / 16**12
        one = trial(index, "hard", probes=(Probe(name="p", steps=wrong, fails=()),))
        assert model.draw(one.scenario, index) == draw
        script = model.backend(one, STEPS)
        assert script == Script(steps=STEPS if draw < 0.5 else wrong)
        solved += script.steps == STEPS
    assert 80 < solved < 120


def test_every_probe_is_played_by_some_trial() -> None:
    model = ScriptedModel.of(profile(solve=CHANCES))
    probes = tuple(
        Probe(name=name, steps=(Step(verb="say", text=name),), fails=()) for name in "abc"
    )
    played = [
        reply(model.backend(trial(index, "expert", probes=probes), STEPS)).text
        for index in range(60)
    ]
    assert set(played) == {"First the notes.", "a", "b", "c"}


def test_without_probes_it_gives_up() -> None:
    model = ScriptedModel.of(profile(solve=CHANCES | {"medium": 0}))
    assert reply(model.backend(trial(), STEPS)).text == "I could not work this out."


def test_a_fault_is_of_one_trial() -> None:
    model = ScriptedModel.of(profile(faults={"demo-t2": 503}))
    assert model.backend(trial(1), STEPS) == Script(steps=STEPS)
    assert model.backend(trial(2), STEPS) == Script(error=503)


def test_policies() -> None:
    scripts = [
        ScriptedModel.of(profile(policy=policy)).backend(trial(), STEPS)
        for policy in ("solve", "refuse", "stall", "error:429")
    ]
    assert scripts == [
        Script(steps=STEPS),
        Script(refusal="I will not do that."),
        Script(stall=True),
        Script(error=429),
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"speed": 1}, "unknown option 'speed'; allowed: policy, seed, solve, faults"),
        (
            {"policy": "win"},
            "policy 'win' is not known; allowed: solve, solve-with-p, refuse, stall, error:STATUS",
        ),
        ({"seed": "x"}, "seed must be a whole number, not 'x'"),
        ({"solve": 0.5}, "solve must be a table, not 0.5"),
        (
            {"solve": {"easy": 2}},
            (
                "solve.easy = 2: the table gives a chance between 0 and 1 for each of easy, medium, "
                "hard, expert"
            ),
        ),
        ({"solve": {"easy": 1}}, "policy solve-with-p needs solve.medium, a chance"),
        ({"faults": {"a-t1": 200}}, "faults.a-t1 = 200: must be an HTTP status, 400 to 599"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ProfileError) as caught:
        make_model(profile(**options))
    assert str(caught.value) == f"[tool.agentbench.models.toy]: {problem}"


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
