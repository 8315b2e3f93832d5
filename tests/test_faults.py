"""Failures on demand: what a client sees of each in each dialect, and what the meter says."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from pytest_agentbench.gateway.client import Gateway, OpenLine
from pytest_agentbench.gateway.fault import KINDS
from pytest_agentbench.gateway.registry import make_model
from pytest_agentbench.status import Status
from pytest_agentbench.trial import ProfileError
from tests.made import profile
from tests.wire import STEPS, WIRES, Caller, Wire, trial

DIALECTS = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])

Dial = Callable[..., tuple[OpenLine, Caller]]


@pytest.fixture
def dial(gateway: Gateway) -> Iterator[Dial]:
    """Opens a line to a scripted model with some options, and a client to it."""
    with ExitStack() as stack:

        def dial(index: int = 1, **options: Any) -> tuple[OpenLine, Caller]:
            opened = gateway.open_line(profile(**options), trial(index=index), STEPS, url="x")
            line = stack.enter_context(opened)
            caller = Caller(line.endpoint)
            stack.callback(caller.close)
            return line, caller

        yield dial


def good(dial: Dial, wire: Wire, stream: bool) -> bytes:
    _, caller = dial()
    return caller.ask(*wire.request(stream)).read()


@DIALECTS
@STREAMED
@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        (429, Status.PROVIDER_ERROR),
        (500, Status.PROVIDER_ERROR),
        (529, Status.PROVIDER_ERROR),
        (401, Status.AUTH_ERROR),
        (404, Status.AUTH_ERROR),
    ],
)
def test_a_status(dial: Dial, wire: Wire, stream: bool, status: int, meaning: Status) -> None:
    line, caller = dial(fault=status)
    response = caller.ask(*wire.request(stream))
    assert response.status == status
    assert f"an injected fault, status {status}" in json.dumps(json.loads(response.read()))
    fault = line.report().fault
    said = f"the model answered {status}: an injected fault, status {status}"
    assert fault == (meaning, said)


@DIALECTS
@STREAMED
def test_refused(dial: Dial, wire: Wire, stream: bool) -> None:
    line, caller = dial(fault="refused")
    with pytest.raises(http.client.RemoteDisconnected):
        caller.ask(*wire.request(stream))
    assert line.report().fault == (
        Status.PROVIDER_ERROR,
        "the model answered 503: it closed the connection with no answer, an injected fault",
    )


@DIALECTS
def test_a_stream_is_cut(dial: Dial, wire: Wire) -> None:
    whole = good(dial, wire, True)
    line, caller = dial(fault="cut")
    response = caller.ask(*wire.request(True))
    assert response.status == 200
    with pytest.raises(http.client.IncompleteRead) as caught:
        response.read()
    assert caught.value.partial
    assert whole.startswith(caught.value.partial)
    assert not caught.value.partial.endswith(b"\n\n")
    assert line.report().fault == (
        Status.PROVIDER_ERROR,
        "the model's answer is of no use: it broke off in the middle, an injected fault",
    )


@DIALECTS
def test_a_whole_answer_is_cut(dial: Dial, wire: Wire) -> None:
    whole = good(dial, wire, False)
    line, caller = dial(fault="cut")
    response = caller.ask(*wire.request(False))
    with pytest.raises(http.client.IncompleteRead) as caught:
        response.read()
    assert caught.value.partial
    assert whole.startswith(caught.value.partial)
    assert line.report().fault == (
        Status.PROVIDER_ERROR,
        "the model's answer is of no use: it broke off in the middle, an injected fault",
    )


@DIALECTS
@pytest.mark.parametrize(
    ("stream", "problem"),
    [(False, "it is no JSON"), (True, "an event of it is no JSON")],
    ids=["whole", "stream"],
)
def test_malformed(dial: Dial, wire: Wire, stream: bool, problem: str) -> None:
    line, caller = dial(fault="malformed")
    response = caller.ask(*wire.request(stream))
    assert response.status == 200
    said = response.read()
    with pytest.raises(json.JSONDecodeError):
        json.loads(said if not stream else said.split(b"\n\n")[1].partition(b"data:")[2])
    assert line.report().fault == (
        Status.PROVIDER_ERROR,
        f"the model's answer is of no use: {problem}",
    )


@DIALECTS
@pytest.mark.parametrize(
    ("stream", "problem"),
    [(False, "it is empty"), (True, "it ended in the middle")],
    ids=["whole", "stream"],
)
def test_empty(dial: Dial, wire: Wire, stream: bool, problem: str) -> None:
    line, caller = dial(fault="empty")
    response = caller.ask(*wire.request(stream))
    assert (response.status, response.read()) == (200, b"")
    assert line.report().fault == (
        Status.PROVIDER_ERROR,
        f"the model's answer is of no use: {problem}",
    )


@DIALECTS
@STREAMED
def test_slow_stays_correct(dial: Dial, wire: Wire, stream: bool) -> None:
    whole = good(dial, wire, stream)
    line, caller = dial(fault={"kind": "slow", "seconds": 0.3})
    assert caller.ask(*wire.request(stream)).read() == whole
    report = line.report()
    assert report.fault is None
    assert report.last
    assert report.last.seconds >= 0.3
    assert report.usage.output_tokens


@DIALECTS
@STREAMED
def test_huge(dial: Dial, wire: Wire, stream: bool) -> None:
    line, caller = dial(fault="huge")
    size = len(caller.ask(*wire.request(stream)).read())
    assert 30 << 20 < size < 34 << 20
    assert line.report().fault == (
        Status.PROVIDER_ERROR,
        f"the model's answer is of no use: it has {size >> 20} MiB",
    )


@DIALECTS
@STREAMED
def test_overflow(dial: Dial, wire: Wire, stream: bool) -> None:
    line, caller = dial(fault="overflow")
    response = caller.ask(*wire.request(stream))
    begun = stream and wire is WIRES["responses"]
    assert response.status == (200 if begun else 400)
    words = {
        "chat": "This model's maximum context length",
        "responses": "context_length_exceeded",
        "messages": "prompt is too long",
        "gemini": "The input token count",
    }
    name = next(name for name, each in WIRES.items() if each is wire)
    assert words[name] in response.read().decode()
    fault = line.report().fault
    assert fault
    assert fault[0] is Status.CONTEXT_EXHAUSTED


@DIALECTS
def test_hang(dial: Dial, wire: Wire) -> None:
    line, caller = dial(fault="hang")
    path, body = wire.request(True)
    caller.request("POST", path, body, {"x-api-key": line.endpoint.token})
    while not line.report().waiting:
        continue
    assert line.report().fault is None
    before = line.report().waiting
    while line.report().waiting <= before:
        continue


def test_only_some_calls(dial: Dial) -> None:
    def statuses(fault: Any) -> list[int]:
        _, caller = dial(fault=fault)
        found = []
        for _ in range(4):
            response = caller.ask(*WIRES["chat"].request(False))
            response.read()
            found.append(response.status)
        return found

    assert statuses({"kind": 429, "first": 2}) == [429, 429, 200, 200]
    assert statuses({"kind": "503", "calls": [2, 4]}) == [200, 503, 200, 503]
    assert statuses({"kind": 500, "calls": [3], "first": 1}) == [500, 200, 500, 200]


def test_a_fault_that_is_over_is_no_fault_of_the_run(dial: Dial) -> None:
    line, caller = dial(fault={"kind": "cut", "first": 1})
    with pytest.raises(http.client.IncompleteRead):
        caller.ask(*WIRES["chat"].request(True)).read()
    caller.close()
    caller.ask(*WIRES["chat"].request(True)).read()
    report = line.report()
    assert report.fault is None
    assert [call.cut for call in report.calls] == [True, False]


def test_faults_of_some_trials(dial: Dial) -> None:
    faults = {"demo-t2": 503, "demo-t3": {"kind": "overflow"}}
    found = []
    for index in (1, 2, 3):
        _, caller = dial(index, faults=faults, fault=429)
        found.append(caller.ask(*WIRES["chat"].request(False)).status)
    assert found == [429, 503, 400]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"fault": "boom"},
            f"fault = 'boom': must be an HTTP status, 400 to 599, or one of {', '.join(KINDS)}",
        ),
        (
            {"fault": 200},
            f"fault = 200: must be an HTTP status, 400 to 599, or one of {', '.join(KINDS)}",
        ),
        (
            {"fault": {"calls": [1]}},
            f"fault = None: must be an HTTP status, 400 to 599, or one of {', '.join(KINDS)}",
        ),
        (
            {"fault": {"kind": 500, "when": 1}},
            "fault.when is not known; allowed: kind, calls, first, seconds",
        ),
        (
            {"fault": {"kind": 500, "calls": [0]}},
            "fault.calls must be a list of numbers from 1 on, not [0]",
        ),
        (
            {"fault": {"kind": 500, "calls": 1}},
            "fault.calls must be a list of numbers from 1 on, not 1",
        ),
        (
            {"fault": {"kind": 500, "first": "2"}},
            "fault.first must be a number of calls, not '2'",
        ),
        (
            {"fault": {"kind": "slow", "seconds": -1}},
            "fault.seconds must be from 0 to 86400, not -1",
        ),
        ({"faults": [429]}, "faults must be a table, not [429]"),
        (
            {"faults": {"demo-t1": True}},
            (
                "faults.demo-t1 = True: must be an HTTP status, 400 to 599, or one of "
                f"{', '.join(KINDS)}"
            ),
        ),
    ],
)
def test_a_fault_that_makes_no_sense(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ProfileError) as caught:
        make_model(profile(**options))
    assert str(caught.value) == f"[tool.agentbench.models.toy]: {problem}"
