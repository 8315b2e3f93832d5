"""A trace as a trajectory of Harbor's format."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_agentbench.execution import Usage
from pytest_agentbench.trace.atif import to_atif
from pytest_agentbench.trace.events import Event, EventKind, Tool, Trace

SOME = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
USAGE = Usage(
    input_tokens=100,
    output_tokens=30,
    cache_read_tokens=7,
    cache_write_tokens=5,
    reasoning_tokens=9,
    requests=3,
    cost_usd=0.25,
)


def user(text: str, time: float | None = None) -> Event:
    return Event(kind=EventKind.USER, text=text, time=time)


def said(text: str, time: float | None = None) -> Event:
    return Event(kind=EventKind.ASSISTANT, text=text, time=time)


def call(number: str, name: str = "write_file", **native: Any) -> Event:
    return Event(
        kind=EventKind.CALL,
        tool=Tool.WRITE,
        args={"path": "größe.txt"},
        call_id=number,
        native_name=name,
        native=native,
    )


def result(number: str, text: str, status: int | None = 200, name: str = "write_file") -> Event:
    return Event(
        kind=EventKind.RESULT,
        tool=Tool.WRITE,
        text=text,
        call_id=number,
        status=status,
        native_name=name,
    )


def exported(*events: Event, usage: Usage = USAGE, **more: Any) -> dict[str, Any]:
    return to_atif(
        Trace(events=events),
        agent="some-agent",
        version="1.2",
        model="some-model",
        usage=usage,
        session_id="s1",
        **more,
    )


#: Two parallel calls, one of which fails, a turn with one more, and a last word.
RUN = (
    user("Do it", 0.0),
    said("Now.", 1.5),
    call("a", file="größe.txt"),
    call("b", file="b"),
    result("b", "no such folder", 500),
    result("a", "eins"),
    said("Again.", 2.0),
    call("c", file="c"),
    result("c", "drei", None),
    said("Done.", 3.0),
)


def written(number: str, file: str) -> dict[str, Any]:
    return {
        "tool_call_id": number,
        "function_name": "write_file",
        "arguments": {"file": file},
        "extra": {"canonical_tool": "write", "canonical_arguments": {"path": "größe.txt"}},
    }


def test_a_turn_is_a_step_with_the_results_of_its_calls() -> None:
    assert exported(*RUN, started=0.0) == {
        "schema_version": "ATIF-v1.8",
        "session_id": "s1",
        "agent": {"name": "some-agent", "version": "1.2", "model_name": "some-model"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Do it"},
            {
                "step_id": 2,
                "source": "agent",
                "message": "Now.",
                "tool_calls": [written("a", "größe.txt"), written("b", "b")],
                "observation": {
                    "results": [
                        {
                            "source_call_id": "b",
                            "content": "no such folder",
                            "extra": {"status": 500},
                        },
                        {"source_call_id": "a", "content": "eins", "extra": {"status": 200}},
                    ]
                },
            },
            {
                "step_id": 3,
                "source": "agent",
                "message": "Again.",
                "tool_calls": [written("c", "c")],
                "observation": {"results": [{"source_call_id": "c", "content": "drei"}]},
            },
            {"step_id": 4, "source": "agent", "message": "Done."},
        ],
        "final_metrics": {
            "total_prompt_tokens": 112,
            "total_completion_tokens": 30,
            "total_cached_tokens": 7,
            "total_cost_usd": 0.25,
            "total_steps": 4,
            "extra": {"cache_write_tokens": 5, "reasoning_tokens": 9, "requests": 3},
        },
    }


def test_steps_have_the_time_at_which_they_began() -> None:
    steps = exported(*RUN, said("Later", 1e12), started=1_700_000_000.25)["steps"]
    assert [step.get("timestamp") for step in steps] == [
        "2023-11-14T22:13:20.250+00:00",
        "2023-11-14T22:13:21.750+00:00",
        "2023-11-14T22:13:22.250+00:00",
        "2023-11-14T22:13:23.250+00:00",
    ]
    [step] = exported(user("Hi", 1e12), started=1.0)["steps"]
    assert "timestamp" not in step


def test_what_is_unknown_is_left_out() -> None:
    trace = Trace(events=(user("Hi"),))
    made = to_atif(trace, agent="a", version="", model="", usage=Usage(), session_id="s")
    assert made["agent"] == {"name": "a", "version": "unknown"}
    assert made["final_metrics"] == {"total_steps": 1}


def test_a_call_of_our_own_runtimes_has_canonical_name_and_arguments() -> None:
    event = Event(kind=EventKind.CALL, tool=Tool.EXEC, args={"argv": ["ls"]})
    [step] = exported(event)["steps"]
    assert step["tool_calls"] == [
        {"tool_call_id": "call-1", "function_name": "exec", "arguments": {"argv": ["ls"]}}
    ]


def test_calls_without_an_id_or_with_one_that_was_used_get_their_own() -> None:
    steps = exported(
        call("x"), result("x", "1"), call("x"), result("x", "2"), call(""), result("", "3")
    )["steps"]
    assert [
        (each["tool_calls"][0]["tool_call_id"], each["observation"]["results"][0]["content"])
        for each in steps
    ] == [("x", "1"), ("x-1", "2"), ("call-1", "3")]
    assert [each["tool_calls"][0]["extra"].get("native_call_id") for each in steps] == [
        None,
        "x",
        None,
    ]


def test_results_without_an_id_belong_to_the_call_of_their_name() -> None:
    first, second = call("", "write_file"), call("", "read_file")
    results = (result("", "read", name="read_file"), result("", "written", name="write_file"))
    [step] = exported(first, second, *results)["steps"]
    assert [
        (each["source_call_id"], each["content"]) for each in step["observation"]["results"]
    ] == [("call-2", "read"), ("call-1", "written")]


def test_a_late_result_goes_to_the_step_of_its_call() -> None:
    steps = exported(call("a"), call("b"), result("b", "zwei"), said("Hm."), result("a", "eins"))[
        "steps"
    ]
    assert [each["content"] for each in steps[0]["observation"]["results"]] == ["zwei", "eins"]
    assert "observation" not in steps[1]


def test_a_result_that_nobody_called_for_is_an_observation_of_the_system() -> None:
    [step] = exported(result("z", "odd"))["steps"]
    assert step == {
        "step_id": 1,
        "source": "system",
        "message": "",
        "observation": {"results": [{"content": "odd", "extra": {"status": 200}}]},
    }


def test_the_state_that_services_report_is_kept() -> None:
    trace = Trace(events=(user("Hi"),), audit_state={"mail": {"sent": 1}})
    made = to_atif(trace, agent="a", version="1", model="m", usage=Usage(), session_id="s")
    assert made["extra"] == {"audit_state": {"mail": {"sent": 1}}}


def test_a_trace_without_events_is_no_trajectory() -> None:
    with pytest.raises(ValueError, match=r"^a trace without events cannot be a trajectory$"):
        exported()


EVENTS = st.lists(
    st.builds(
        Event,
        kind=st.sampled_from(EventKind),
        text=st.text(max_size=5),
        tool=st.sampled_from(Tool),
        args=st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
        call_id=st.sampled_from(["", "a", "a-1", "b", "call", "call-1"]),
        status=st.none() | st.sampled_from([200, 500]),
        time=st.none() | st.floats(0, 1e12, exclude_max=True),
        native_name=st.sampled_from(["", "read", "write"]),
    ),
    min_size=1,
    max_size=25,
)


@SOME
@given(events=EVENTS)
def test_no_event_is_lost_and_each_reference_holds(events: list[Event]) -> None:
    made = json.loads(json.dumps(exported(*events, started=5.0)))
    steps = made["steps"]
    assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))
    calls = [each for step in steps for each in step.get("tool_calls", ())]
    results = [
        each for step in steps for each in step.get("observation", {"results": ()})["results"]
    ]
    kinds = [event.kind for event in events]
    assert len(calls) == kinds.count(EventKind.CALL)
    assert len(results) == kinds.count(EventKind.RESULT)
    assert sorted(each["content"] for each in results) == sorted(
        event.text for event in events if event.kind is EventKind.RESULT
    )
    assert len({each["tool_call_id"] for each in calls}) == len(calls)
    sources = [each["source_call_id"] for each in results if "source_call_id" in each]
    assert len(set(sources)) == len(sources)
    for step in steps:
        own = {each["tool_call_id"] for each in step.get("tool_calls", ())}
        for each in step.get("observation", {"results": ()})["results"]:
            assert each.get("source_call_id") in own | {None}
        assert step["source"] == "agent" or not own
    turns = [step for step in steps if step["source"] == "agent"]
    assert len(turns) == Trace(events=tuple(events)).steps


OPTIONAL = "optional: harbor is no dependency (it needs Python 3.12); the other tests do without it"


@SOME
@given(events=EVENTS)
def test_harbor_takes_what_we_export(events: list[Event]) -> None:
    trajectories = pytest.importorskip("harbor.models.trajectories", reason=OPTIONAL)
    for made in (exported(*events, started=5.0), exported(*RUN), exported(*RUN, usage=Usage())):
        read = trajectories.Trajectory.model_validate(made)
        assert read.to_json_dict() == made
