"""Cassettes: what is recorded of model calls, and that the replay is the same without a model."""

from __future__ import annotations

import dataclasses
import http.client
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from pytest_agentbench.execution import Usage
from pytest_agentbench.gateway.backend import Unsent
from pytest_agentbench.gateway.chat import ChatReply, ToolCall
from pytest_agentbench.gateway.client import Gateway, OpenLine
from pytest_agentbench.gateway.client import gateway as started_gateway
from pytest_agentbench.gateway.dialects.chat import ChatCompletions
from pytest_agentbench.gateway.dialects.registry import DIALECTS
from pytest_agentbench.gateway.folders import put_aside, put_back
from pytest_agentbench.gateway.replay import difference
from pytest_agentbench.gateway.sse import Reader
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trial import Tape
from tests.made import profile
from tests.project import Project, scenario_text
from tests.provider import FakeProvider, provider, streamed
from tests.wire import STEPS, WIRES, Caller, Wire, trial

EACH = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@dataclasses.dataclass(slots=True)
class Studio:
    """Opens lines to a model that is recorded, and to its recording."""

    gateway: Gateway
    folder: Path

    def line(self, *, replays: bool, index: int = 1, **options: Any) -> Any:
        made = profile(**options)
        made = dataclasses.replace(made, tape=Tape(folder=self.folder, replays=replays))
        return self.gateway.open_line(made, trial(index=index), STEPS, url="x")

    def record(self, *asked: tuple[str, bytes], **options: Any) -> list[tuple[int, bytes]]:
        with self.line(replays=False, **options) as line:
            found = answers(line, *asked)
            line.report()  # as every run does at its end
            return found

    def replay(self, *asked: tuple[str, bytes], **options: Any) -> list[tuple[int, bytes]]:
        with self.line(replays=True, **options) as line:
            return answers(line, *asked)

    @property
    def cassettes(self) -> dict[str, list[Any]]:
        return {
            str(path.relative_to(self.folder)): [
                json.loads(line) for line in path.read_text().splitlines()
            ]
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }


def answers(line: OpenLine, *asked: tuple[str, bytes]) -> list[tuple[int, bytes]]:
    found = []
    for path, body in asked:
        caller = Caller(line.endpoint)
        try:
            response = caller.ask(path, body)
            found.append((response.status, response.read()))
        except http.client.IncompleteRead as cut:
            found.append((0, cut.partial))
        except http.client.RemoteDisconnected:
            found.append((0, b""))
        finally:
            caller.close()
    return found


@pytest.fixture
def studio(gateway: Gateway, tmp_path: Path) -> Studio:
    return Studio(gateway, tmp_path / "tapes")


@pytest.fixture(scope="module")
def lab() -> Iterator[FakeProvider]:
    with provider() as made:
        yield made


@EACH
@STREAMED
def test_a_replay_is_the_same_to_the_byte(studio: Studio, wire: Wire, stream: bool) -> None:
    recorded = studio.record(wire.request(stream), wire.request(stream, temperature=0.5))
    assert [status for status, _ in recorded] == [200, 200]
    # In any order, and by a model that would answer otherwise.
    other = wire.request(stream, temperature=0.5)
    replayed = studio.replay(other, wire.request(stream), policy="refuse")
    assert replayed == recorded[::-1]


@EACH
@pytest.mark.parametrize(
    "fault",
    [429, 401, "refused", "cut", "malformed", "empty", "overflow", {"kind": 503, "first": 1}],
)
def test_failures_are_replayed_too(studio: Studio, wire: Wire, fault: Any) -> None:
    asked = (wire.request(True), wire.request(False), wire.request(True))
    with studio.line(replays=False, fault=fault) as line:
        recorded, report = answers(line, *asked), line.report()
    with studio.line(replays=True) as line:
        assert answers(line, *asked) == recorded
        again = line.report()
    assert again.fault == report.fault
    assert again.usage == report.usage
    assert again.backend == {**report.backend, "replayed": True}


def test_a_call_that_was_never_answered_is_not_answered(studio: Studio) -> None:
    path, body = WIRES["chat"].request(True)
    for replays in (False, True):
        with studio.line(replays=replays, fault="hang") as line:
            caller = Caller(line.endpoint)
            caller.request("POST", path, body, {"x-api-key": line.endpoint.token})
            while not line.report().waiting:
                continue
            caller.close()
            while not line.report().calls:
                continue


def test_what_a_cassette_holds(studio: Studio) -> None:
    wire = WIRES["chat"]
    tools = [{"type": "function", "function": {"name": "read", "description": "x" * 300}}]
    asked = [wire.request(stream, tools=tools) for stream in (False, True)]
    studio.record(*asked)
    (name, lines), *others = studio.cassettes.items()
    assert (name, others) == ("demo/minimal-baseline-t1.jsonl", [])
    first, part, *calls = lines
    assert first == {
        "cassette": 1,
        "trial": {
            "scenario": "demo",
            "runtime": "minimal",
            "model": "toy",
            "mode": "baseline",
            "index": 1,
        },
        "backend": {"name": "scripted"},
        "scripted": True,
    }
    assert part["value"] == tools[0]  # once for both
    assert [call["request"]["body"]["tools"] for call in calls] == [
        [{"{{part}}": part["part"]}]
    ] * 2
    assert sorted(calls, key=lambda call: (call["key"], call["occurrence"])) == calls
    assert {call["type"] for call in calls} == {"application/json", "text/event-stream"}
    before = (studio.folder / name).read_bytes()
    studio.record(*asked)
    lines = studio.cassettes[name]
    assert [call["occurrence"] for call in lines if "key" in call] == [1, 2, 1, 2]
    assert (studio.folder / name).read_bytes() != before


def test_two_recordings_are_the_same_file(tmp_path: Path) -> None:
    texts = []
    for name in "ab":
        with started_gateway() as started:
            studio = Studio(started, tmp_path / name)
            studio.record(*(wire.request(True) for wire in WIRES.values()))
        (path,) = (tmp_path / name).glob("*/*")
        texts.append(path.read_bytes())
    assert texts[0] == texts[1]


def test_a_new_run_replaces_what_an_earlier_one_recorded(tmp_path: Path) -> None:
    wire = WIRES["chat"]
    for _ in range(2):
        with started_gateway() as started:
            studio = Studio(started, tmp_path)
            studio.record(wire.request(False))
            studio.record(wire.request(False))  # a further attempt of the same run
            (lines,) = studio.cassettes.values()
            assert [line["occurrence"] for line in lines if "key" in line] == [1, 2]


def test_a_further_attempt_gets_what_comes_next(studio: Studio) -> None:
    asked = WIRES["chat"].request(False)
    studio.record(asked, fault=503)
    studio.record(asked)
    assert [studio.replay(asked)[0][0] for _ in range(2)] == [503, 200]


def test_a_call_that_was_not_recorded(studio: Studio) -> None:
    wire = WIRES["chat"]
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Do it. Now."}]
    studio.record(wire.request(False), wire.request(False, messages=talk))
    talk = [talk[0], {"role": "user", "content": "Do it. Not now."}]
    with studio.line(replays=True) as line:
        ((status, said),) = answers(line, wire.request(False, messages=talk))
        report = line.report()
    problem = (
        "the recording demo/minimal-baseline-t1.jsonl has no such call; the nearest is call 2 of "
        "2, which differs at body.messages[1].content: recorded 'Do it. Now.', now 'Do it. Not "
        "now.'; record the trial again with --record"
    )
    assert (status, json.loads(said)["error"]["message"]) == (404, problem)
    assert report.fault == (Status.HARNESS_ERROR, problem)


def test_a_call_that_comes_once_more(studio: Studio) -> None:
    asked = WIRES["chat"].request(False)
    studio.record(asked)
    with studio.line(replays=True) as line:
        answers(line, asked, asked)
        assert line.report().fault == (
            Status.HARNESS_ERROR,
            (
                "the recording demo/minimal-baseline-t1.jsonl has 1 of this call, which comes once "
                "more; record the trial again with --record"
            ),
        )


def test_an_empty_recording(studio: Studio) -> None:
    studio.record()
    with studio.line(replays=True) as line:
        answers(line, WIRES["chat"].request(False))
        assert line.report().fault == (
            Status.HARNESS_ERROR,
            (
                "the recording demo/minimal-baseline-t1.jsonl has no call at all; record the trial "
                "again with --record"
            ),
        )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "there is no {path}; record the trial with --record"),
        (
            '{"cassette": 2}\n',
            "{path}: its format is 2, and this version reads 1; record it again with --record",
        ),
        (
            '{"a": 1}\n',
            "{path} is no cassette: KeyError: 'cassette'; record it again with --record",
        ),
        (
            "",
            (
                "{path} is no cassette: ValueError: not enough values to unpack (expected at least "
                "1, got 0); record it again with --record"
            ),
        ),
    ],
)
def test_a_cassette_that_makes_no_sense(studio: Studio, text: str | None, problem: str) -> None:
    path = studio.folder / "demo" / "minimal-baseline-t1.jsonl"
    path.parent.mkdir(parents=True)
    if text is not None:
        path.write_text(text)
    with pytest.raises(TrialFault) as caught, studio.line(replays=True):
        pass
    assert caught.value.status is Status.HARNESS_ERROR
    said = problem.format(path=path)
    assert str(caught.value) == f"the model gateway cannot open: {said}"


def test_a_recording_that_cannot_be_written(studio: Studio) -> None:
    studio.folder.mkdir()
    with studio.line(replays=False) as line:
        answers(line, WIRES["chat"].request(False))
        (studio.folder / "demo").write_text("no folder")
        with pytest.raises(TrialFault, match="the model gateway cannot report: FileExistsError"):
            line.report()


def run_request(wire: Wire, number: int, folder: str) -> tuple[str, bytes]:
    """The same request as a run at another time, in another folder, would send it."""
    ids = [f"0b5f7c1e-0000-4000-8000-00000000000{number}", f"call_{number}x", f"call_{number}y"]
    moment = f"2026-1{number}-0{number}T0{number}:00:00Z"
    said = (
        f"In {folder}/ws on {moment} ({folder.replace('/', '-').replace('_', '-')}-ws), Chunk ID: "
        f"ab{number}, took 0.{number}1 seconds, at http://127.0.0.1:123{number}/v1, session {ids[0]}"
    )
    if wire is WIRES["chat"]:
        calls = [
            {"id": each, "type": "function", "function": {"name": "read", "arguments": "{}"}}
            for each in ids[1:]
        ]
        results = [
            {"role": "tool", "tool_call_id": each, "content": f"{name} {folder}/ws/{name}.txt"}
            for each, name in zip(ids[1:], "ab", strict=True)
        ]
        messages = [
            {"role": "user", "content": said},
            {"role": "assistant", "tool_calls": calls},
            *results[:: 1 if number == 1 else -1],
        ]
        return wire.request(True, messages=messages, user=ids[0], prompt_cache_key=ids[0])
    if wire is WIRES["messages"]:
        uses = [{"type": "tool_use", "id": each, "name": "r", "input": {}} for each in ids[1:]]
        results = [
            {"type": "tool_result", "tool_use_id": each, "content": name}
            for each, name in zip(ids[1:], "ab", strict=True)
        ][:: 1 if number == 1 else -1]
        results[-1]["cache_control"] = {"type": "ephemeral"}
        messages = [
            {"role": "user", "content": [{"type": "text", "text": said}]},
            {"role": "assistant", "content": uses},
            {"role": "user", "content": [*results, {"type": "text", "text": "go on"}]},
        ]
        return wire.request(True, messages=messages, metadata={"user_id": ids[0]})
    if wire is WIRES["responses"]:
        uses = [
            {"type": "function_call", "id": f"fc_{ids[0]}", "call_id": each, "name": "r"}
            | {"arguments": "{}"}
            for each in ids[1:]
        ]
        results = [
            {"type": "function_call_output", "call_id": each, "output": name}
            for each, name in zip(ids[1:], "ab", strict=True)
        ][:: 1 if number == 1 else -1]
        items = [{"role": "user", "content": said, "id": f"msg_{ids[0]}"}, *uses, *results]
        return wire.request(True, input=items, client_metadata={"session": ids[0]})
    uses = [{"functionCall": {"id": each, "name": "r", "args": {}}} for each in ids[1:]]
    results = [
        {"functionResponse": {"id": each, "name": "r", "response": {"output": name}}}
        for each, name in zip(ids[1:], "ab", strict=True)
    ][:: 1 if number == 1 else -1]
    contents = [
        {"role": "user", "parts": [{"text": said}]},
        {"role": "model", "parts": uses},
        {"role": "user", "parts": results},
    ]
    return wire.request(True, contents=contents)


OLD = "/tmp/agentbench-ab12_x9z"


@EACH
def test_a_run_at_another_time_in_another_folder_asks_the_same(studio: Studio, wire: Wire) -> None:
    recorded = studio.record(run_request(wire, 1, OLD))
    assert recorded == studio.replay(run_request(wire, 2, "/tmp/agentbench-qq98yy76"))
    text = json.dumps(studio.cassettes)
    assert OLD not in text
    assert "2026" not in text


@EACH
@STREAMED
def test_a_model_that_names_a_folder_names_that_of_the_run(
    studio: Studio, lab: FakeProvider, wire: Wire, stream: bool
) -> None:
    """Also in pieces, of which none holds the whole name."""
    old, new = "/tmp/agentbench-ab12_x9z", "/var/lab/agentbench-qq98yy76"
    dialect = next(d for d in DIALECTS if WIRES[d.name] is wire)
    request = dialect.request(wire.path, wire.body)
    call = ToolCall(id="c1", name="write", args={"path": f"{old}/ws/out.txt", "content": "ü"})
    reply = ChatReply(text=f"I write {old}/ws/out.txt and {old}/ws.", calls=(call,))

    async def handler(request_: web.Request) -> web.StreamResponse:
        if stream:
            return await streamed(request_, *dialect.stream(request, reply))
        return web.json_response(dialect.reply(request, reply))

    lab.handler = handler
    upstream = {"backend": "upstream", "base_url": lab.base_url}
    ((_, recorded),) = studio.record(run_request(wire, 1, old), **upstream)
    ((_, replayed),) = studio.replay(run_request(wire, 2, new), **upstream)
    assert old.encode() in recorded or stream
    assert b"ab12_x9z" not in replayed
    assert told(dialect, replayed, stream) == told(dialect, recorded, stream).replace(old, new)


def told(dialect: Any, answer: bytes, stream: bool) -> str:
    """All texts of an answer, one after the other as they grew, by where they are."""
    events = Reader().feed(answer) if stream else [json.loads(answer)]
    texts: dict[Any, str] = {}

    def add(value: Any, place: tuple[Any, ...]) -> None:
        if isinstance(value, str):
            texts[place] = texts.get(place, "") + value
        for key, each in value.items() if isinstance(value, dict) else ():
            add(each, (*place, key))
        for key, each in enumerate(value) if isinstance(value, list) else ():
            add(each, (*place, key))

    for event in events:
        add(event, ())
    return json.dumps(sorted((repr(place), text) for place, text in texts.items()))


def test_only_events_with_a_folder_in_them_are_written_anew() -> None:
    pieces = [
        b'data: {"a":  "/tmp/agen"}\n',
        b'\ndata: {"a":"tbench-1/x /tmp/agentbench-1"}\n\nda',
        Unsent(b'data: {"usage":  1}\n\n'),
        b'data: {"a":   "z"}\n\n\xff',
    ]
    aside = put_aside(pieces, {"/tmp/agentbench-1": "{{run}}"}, stream=True)
    assert aside == [
        b'data: {"a": "{{run}}"}\n\n',
        b'data: {"a": "/x {{run}}"}\n\n',
        b"da",
        b'data: {"usage":  1}\n\n',
        b'data: {"a":   "z"}\n\n',
        b"\xff",
    ]
    assert [isinstance(piece, Unsent) for piece in aside] == [False] * 3 + [True] + [False] * 2
    assert put_aside(pieces, {"/tmp/else": "{{run}}"}, stream=True) == pieces
    back = put_back(Unsent(b'{"a": "{{run}}/x"}'), {"{{run}}": 'a"b'})
    assert (back, type(back)) == (b'{"a": "a\\"b/x"}', Unsent)


@pytest.mark.parametrize(
    ("recorded", "asked", "said"),
    [
        ({"a": [1, 2]}, {"a": [1, 2]}, ""),
        ({"a": 1}, {"a": 1, "b": "x"}, "b: recorded nothing, now 'x'"),
        ({"a": {"b": [1]}}, {"a": {"b": [1, 2, 3]}}, "a.b: recorded 1 of them, now 3"),
        ({"a": [{"b": True}]}, {"a": [{"b": [1]}]}, "a[0].b: recorded True, now [1]"),
        (
            {"a": "x" * 100 + "end"},
            {"a": "x" * 100 + "END, and so on, " + "y" * 99},
            (f"a: recorded '…{'x' * 40}end', now '…{'x' * 40}END, and so on, {'y' * 24}…'"),
        ),
    ],
)
def test_the_first_difference(recorded: Any, asked: Any, said: str) -> None:
    assert difference(recorded, asked) == said


TABLE = """\
[tool.agentbench.models.lab]
backend = "upstream"
base_url = "{url}"
key_env = "LAB_KEY"
"""


def test_a_run_replays_to_the_same_grades_without_model_and_key(
    project: Project, monkeypatch: pytest.MonkeyPatch, workers: list[str]
) -> None:
    project.scenario("murmur")
    monkeypatch.setenv("LAB_KEY", "sk-secret-77")
    asked = ("--trials=2", "--model=lab", *workers)
    with provider() as lab:
        lab.handler = player()
        project.write("pyproject.toml", TABLE.format(url=lab.base_url))
        first = project.bench(*asked, "--record=tapes", runtime="minimal")
    first.assert_outcomes(passed=4)
    tapes = sorted(path for path in (project.path / "tapes").rglob("*") if path.is_file())
    assert [str(path.relative_to(project.path / "tapes")) for path in tapes] == [
        f"{name}/minimal-lab-baseline-t{index}.jsonl"
        for name in ("murmur", "shout")
        for index in (1, 2)
    ]
    assert not [path for path in tapes if b"sk-secret-77" in path.read_bytes()]
    monkeypatch.delenv("LAB_KEY")
    (project.path / "run").rename(project.path / "before")
    second = project.bench(*asked, "--replay=tapes", runtime="minimal")
    second.assert_outcomes(passed=4)
    assert any("replayed from a recording" in line for line in second.outlines)
    before, after = (
        {r["key"]: json.dumps([r["grade"], r["usage"]]) for r in project.records(run)}
        for run in ("before", "run")
    )
    assert before == after
    record = project.records()[0]
    assert record["replayed"]
    assert record["observed"]["model_calls"]["backend"]["replayed"]


#: Calls of the tools of ``minimal`` that solve the scenarios of the project.
SOLVING: Sequence[tuple[str, dict[str, Any]]] = [
    ("read", {"path": "word.txt"}),
    ("write", {"path": "out/answer.json", "content": '{"word": "LOWER"}'}),
]


def player(steps: Sequence[tuple[str, dict[str, Any]]] = SOLVING) -> Any:
    """A provider that makes these calls, and says that it is done."""

    async def handler(request: web.Request) -> web.StreamResponse:
        asked = ChatCompletions().request("", await request.json())
        done = len(asked.of("tool"))
        calls = tuple(ToolCall(id=f"c{done}", name=n, args=a) for n, a in steps[done : done + 1])
        usage = Usage(input_tokens=10 * done, output_tokens=3)
        reply = ChatReply(text="" if calls else "done", calls=calls, usage=usage)
        return web.json_response(ChatCompletions().reply(asked, reply))

    return handler


def test_a_run_that_differs_is_a_fault_of_the_harness(project: Project) -> None:
    asked = "--model=scripted"
    project.bench(asked, "--record=tapes", runtime="minimal").assert_outcomes(passed=1)
    (project.path / "run").rename(project.path / "before")
    text = scenario_text().replace("in upper case", "in capitals")
    project.write("scenarios/shout.yaml", text)
    result = project.bench(asked, "--replay=tapes", runtime="minimal")
    result.assert_outcomes(errors=1)
    (record,) = project.records()
    assert record["status"] == "harness_error"
    assert record["message"].startswith(
        "the recording shout/minimal-scripted-baseline-t1.jsonl has no such call; the nearest is "
        "call 1 of 3, which differs at body.messages["
    )
    assert "in upper case" in record["message"]
    assert "in capitals" in record["message"]


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (
            ["--model=scripted", "--record=a", "--replay=a"],
            "ERROR: --record and --replay exclude each other",
        ),
        (
            ["--model=scripted", "--replay=nowhere"],
            "ERROR: --replay: 'nowhere' holds no recording; make one with --record=nowhere",
        ),
        (
            ["--model=scripted", "--record=pyproject.toml/a"],
            "ERROR: --record: 'pyproject.toml' is no folder that can be written to",
        ),
        (["--record=a"], "ERROR: --record is about model calls, and there is no --model"),
    ],
)
def test_options_that_make_no_sense(project: Project, args: list[str], problem: str) -> None:
    result = project.run("scenarios", "--runtime=minimal", *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert problem in result.errlines
