"""What the gateway notes of a run besides: requests, strangers, models not there, endless answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.gateway.client import Gateway
from pytest_agentbench.gateway.policies import ASIDE
from pytest_agentbench.gateway.registry import make_model
from pytest_agentbench.status import Status
from pytest_agentbench.trial import ProfileError
from tests.made import profile
from tests.wire import STEPS, WIRES, Caller, Wire, trial


def line(gateway: Gateway, **options: Any) -> Any:
    return gateway.open_line(profile(**options), trial(), STEPS, url="x")


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_every_request_is_written_down_before_it_is_answered(
    gateway: Gateway, tmp_path: Path, wire: Wire
) -> None:
    path = tmp_path / "requests.jsonl"
    with line(gateway, witness=str(path), fault={"kind": 500, "calls": [2]}) as opened:
        caller = Caller(opened.endpoint)
        statuses = []
        for stream in (False, True):
            response = caller.ask(*wire.request(stream))
            response.read()
            statuses.append(response.status)
        caller.close()
    assert statuses == [200, 500]
    rows = [json.loads(text) for text in path.read_text().splitlines()]
    assert ["answer" in row for row in rows] == [False, True, False]
    assert ASIDE in json.dumps(json.loads(rows[1]["answer"]))
    heard = [rows[0], rows[2]]
    assert [(h["path"].startswith("/v1"), h["model"]) for h in heard] == [(True, "toy")] * 2
    assert heard[0]["messages"] == [
        {"role": "user", "text": "Do it.", "calls": [], "call_id": "", "failed": None}
    ]
    assert json.loads(heard[0]["body"]) == json.loads(wire.request(False)[1])


def test_a_witness_is_an_absolute_path() -> None:
    with pytest.raises(ProfileError) as caught:
        make_model(profile(witness="requests.jsonl"))
    assert str(caught.value) == (
        "[tool.agentbench.models.toy]: witness must be the absolute path of a file, not "
        "'requests.jsonl'"
    )


def test_requests_without_the_token_are_counted_apart(gateway: Gateway) -> None:
    with line(gateway) as opened:
        caller = Caller(opened.endpoint)
        path, body = WIRES["chat"].request(False)
        caller.request("POST", path, body, {"Authorization": "Bearer another"})
        assert caller.getresponse().read()
        caller.ask(path, body).read()
        caller.close()
        report = opened.report()
    assert (report.requests, report.strangers) == (1, 1)
    assert report.observed["strangers"] == 1


@pytest.mark.parametrize(("model", "status"), [("toy", Status.AUTH_ERROR), ("another", None)])
def test_a_model_that_is_not_there(gateway: Gateway, model: str, status: Status | None) -> None:
    """The run's own cannot be asked, which is nobody's score; any other is the runtime's idea."""
    with line(gateway, fault=404) as opened:
        caller = Caller(opened.endpoint)
        path, body = WIRES["chat"].request(False, model=model)
        caller.ask(path, body).read()
        caller.close()
        fault = opened.report().fault
    assert (fault and fault[0]) is status


def test_an_answer_without_end_is_of_no_use_before_it_ends(gateway: Gateway) -> None:
    """A runtime that takes its whole time to swallow one is not slow by its own doing."""
    with line(gateway, fault="huge") as opened:
        caller = Caller(opened.endpoint)
        response = caller.ask(*WIRES["chat"].request(True))
        response.read(17 << 20)
        fault = opened.report().fault
        caller.close()
    assert fault == (
        Status.PROVIDER_ERROR,
        "the model's answer is of no use: it has more than 16 MiB",
    )
