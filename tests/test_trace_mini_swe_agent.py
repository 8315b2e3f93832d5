"""The adapter of mini-swe-agent and its transcripts, which the real runtime wrote."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.execution import Completed, Usage
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.ending import ended
from pytest_agentbench.runtimes.mini_swe_agent import MiniSweAgent
from pytest_agentbench.status import Status
from pytest_agentbench.trace.document import read_document
from pytest_agentbench.trace.events import EventKind, Trace
from pytest_agentbench.trace.mini_swe_agent import parse
from pytest_agentbench.trace.transcript import Transcript
from pytest_agentbench.trial import AgentRun
from tests import transcripts
from tests.transcripts import profile, script

DATA = transcripts.DATA / "mini-swe-agent"


def read(name: str, start: float | None = None) -> Transcript:
    return parse(read_document(DATA / f"{name}.json").data, start)


def test_native_calls_are_canonical_calls() -> None:
    trace = Trace(events=read("tools").events)
    assert [(call.tool, dict(call.args)) for call in trace.calls] == [
        ("exec", {"command": "cat notes.txt"}),
        ("exec", {"command": "cat missing.txt"}),
        ("other", {}),
        ("exec", {"command": "echo never"}),
        ("exec", {"command": "printf 'größer – 東京\\n' > grüße.txt"}),
        # Arguments that are no JSON.
        ("exec", {}),
        ("exec", {"command": "echo begun; sleep 60"}),
        ("exec", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo fertig: größer"}),
        ("exec", {"command": "echo after"}),
    ]
    assert trace.calls[0].native == {"command": "cat notes.txt"}
    assert trace.calls[5].native == {"input": '{"command": '}


def test_results_say_what_failed() -> None:
    found = Trace(events=read("tools").events)
    assert [(result.call_id, result.status) for result in found.results] == [
        ("call_0_0", 200),
        ("call_0_1", 500),
        # One that is not there, and one that was not carried out for it.
        ("call_1_0", 500),
        ("call_1_1", 500),
        ("call_2_0", 200),
        ("call_4_0", 500),
        # It took too long.
        ("call_5_0", 500),
        # The call that ends the run has no result of its own there.
        ("call_6_0", 200),
        ("call_6_1", 500),
    ]
    assert found.results[1].text == "cat: missing.txt: No such file or directory\n"
    assert found.results[6].text.startswith("begun\n\nAn error occurred")
    assert found.results[7].text == "fertig: größer\n"
    assert found.results[0].native["returncode"] == 0


def test_all_that_the_model_said_is_there_and_what_it_submitted() -> None:
    assert Trace(events=read("tools").events).response == (
        "I look around.\nA tool that is not there.\nOnly words.\nIt is done.\nfertig: größer\n"
    )


def test_parallel_calls_come_before_their_results_and_times_count_from_the_start() -> None:
    began = read_document(DATA / "tools.json").data["messages"][2]["extra"]["timestamp"] - 2.5
    events = read("tools", start=began).events
    kinds = [event.kind for event in events[1:5]]
    assert kinds == [EventKind.CALL, EventKind.CALL, EventKind.RESULT, EventKind.RESULT]
    assert events[0].time == 2.5
    times = [event.time for event in events if event.time is not None]
    assert times == sorted(times)
    assert 30 < times[-1] < 60
    assert {event.time for event in read("tools").events} == {None}


def test_usage_counts_each_answer_once_and_cached_tokens_apart() -> None:
    assert read("tools").usage == Usage(
        input_tokens=441,
        output_tokens=91,
        cache_read_tokens=280,
        reasoning_tokens=21,
        requests=7,
    )
    assert read("ending-429").usage == Usage()


@pytest.mark.parametrize(
    ("name", "exit_code", "status", "message"),
    [
        ("tools", 0, Status.COMPLETED, ""),
        ("ending-limit", 0, Status.COMPLETED, ""),
        (
            "ending-429",
            1,
            Status.PROVIDER_ERROR,
            (
                "the model answered 429: litellm.RateLimitError: RateLimitError: OpenAIException - "
                "an injected fault, status 429"
            ),
        ),
        (
            "ending-401",
            1,
            Status.AUTH_ERROR,
            (
                "the model answered 401: litellm.AuthenticationError: AuthenticationError: "
                "OpenAIException - an injected fault, status 401 You can permanently set your API key "
                "with `mini-extra config set KEY VALUE`."
            ),
        ),
        (
            "ending-404",
            1,
            Status.AGENT_ERROR,
            (
                "the model answered 404: litellm.NotFoundError: NotFoundError: OpenAIException - "
                "an injected fault, status 404"
            ),
        ),
        (
            "ending-500",
            1,
            Status.PROVIDER_ERROR,
            (
                "litellm.InternalServerError: InternalServerError: OpenAIException - "
                "an injected fault, status 500"
            ),
        ),
        (
            "ending-refused",
            1,
            Status.PROVIDER_ERROR,
            "litellm.InternalServerError: InternalServerError: OpenAIException - Connection error.",
        ),
        (
            "ending-context",
            1,
            Status.CONTEXT_EXHAUSTED,
            (
                "litellm.ContextWindowExceededError: litellm.BadRequestError: "
                "ContextWindowExceededError: OpenAIException - This model's maximum context length is "
                "exceeded: your messages have more tokens than that, an injected fault"
            ),
        ),
        ("ending-refusal", 0, Status.REFUSAL, "I will not do that."),
    ],
)
def test_the_end_is_told_by_the_transcript(
    name: str, exit_code: int, status: Status, message: str
) -> None:
    assert ended(read(name).ending, Completed(exit_code=exit_code)) == (status, message)


def test_a_model_that_calls_no_tool_is_no_refusal() -> None:
    data = read_document(DATA / "ending-refusal.json").data
    for message in data["messages"]:
        for choice in message.get("extra", {}).get("response", {}).get("choices", ()):
            choice["message"].pop("refusal", None)
            choice["message"].pop("provider_specific_fields", None)
    ending = parse(data).ending
    assert ending is not None
    assert (ending.status, ending.message) == (
        Status.AGENT_ERROR,
        "its model called no tool, or none that there is, several times in a row",
    )


def test_a_file_that_is_no_object_raises_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    assert read_document(path).flags == ()
    for text in (b"", b"{", b"[1]", b"\xff", b"[" * 100_000):
        path.write_bytes(text)
        assert (read_document(path).data, read_document(path).flags) == (
            {},
            (Flag.TRACE_LINES_UNREADABLE,),
        )
    path.write_text('{"text": "\\udc00"}')
    assert read_document(path).data == {"text": "?"}


@pytest.mark.parametrize("value", [None, 1, "x", [], [1], {"id": [1]}])
def test_messages_that_make_no_sense_raise_nothing(value: Any) -> None:
    keys = ("content", "extra", "tool_calls", "tool_call_id", "provider_specific_fields")
    inner = ("response", "exit_status", "raw_output", "returncode", "timestamp", "submission")
    messages: list[Any] = [value]
    for role in ("assistant", "tool", "user", "exit"):
        messages.append(dict.fromkeys(keys, value) | {"role": role})
        messages.append({"role": role, "extra": dict.fromkeys(inner, value)})
        response = {"choices": [{"message": dict.fromkeys(keys, value)}], "usage": value}
        messages.append({"role": role, "extra": {"response": response}})
        messages.append({"role": role, "tool_calls": [{"function": value, "id": value}]})
    parse({"messages": messages, "info": value}, 0.0)
    parse({"messages": value})


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A file where an installation has its program, with the configuration beside."""
    config = tmp_path / "env/lib/python3.12/site-packages/minisweagent/config/mini.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("agent: {}\n")
    return script(tmp_path / "env" / "bin" / "mini")


def agent_run(tmp_path: Path, prompt: str = "Do it.") -> AgentRun:
    return transcripts.agent_run(tmp_path, "mini-swe-agent", prompt)


def adapter(program: Path, **options: Any) -> MiniSweAgent:
    return MiniSweAgent(profile("mini-swe-agent", path=str(program), **options))


def test_the_command_has_neither_prompt_nor_key_among_its_arguments(
    tmp_path: Path, program: Path
) -> None:
    # Of these a file of JSON, read as YAML, would make others.
    prompt = "-v {{ü}} \U0001f600 a\u2028b\x85c\x7fd\n\n  e "
    run = agent_run(tmp_path, prompt + "\ud800")
    runtime = adapter(program, args=["-c", "agent.step_limit=9"], env={"EXTRA": "1"})
    runtime.prepare(run)
    command = runtime.command(run)
    assert command.argv == (
        str(program),
        f"--output={run.state / 'trajectory.json'}",
        *("-c", str(tmp_path / "env/lib/python3.12/site-packages/minisweagent/config/mini.yaml")),
        *("-c", str(run.state / "run.yaml")),
        *("-c", "agent.step_limit=9"),
    )
    assert command.env["OPENAI_API_KEY"] == "t0ken"
    assert command.env["EXTRA"] == "1"
    config = yaml.safe_load((run.state / "run.yaml").read_text("utf-8"))
    assert config["run"] == {"task": prompt + "?"}
    assert config["agent"] == {"mode": "yolo", "confirm_exit": False, "cost_limit": 0}
    # What the commands of the agent's see.
    assert config["environment"] == {"env": {"OPENAI_API_KEY": ""}}
    assert config["model"]["model_name"] == "openai/toy"
    assert config["model"]["model_kwargs"]["api_base"] == "http://127.0.0.1:8080/v1"
    assert config["model"]["model_kwargs"]["timeout"] > 90


def test_collect_reads_the_run(tmp_path: Path, program: Path) -> None:
    run = agent_run(tmp_path)
    runtime = adapter(program)
    runtime.prepare(run)
    shutil.copy(DATA / "ending-limit.json", run.state / "trajectory.json")
    messages = read_document(DATA / "ending-limit.json").data["messages"]
    began = messages[2]["extra"]["timestamp"] - 4
    os.utime(run.state / "run.yaml", (began, began))
    execution = runtime.collect(run, Completed(exit_code=0))
    assert (execution.status, execution.flags) == (Status.COMPLETED, (Flag.MAX_TURNS,))
    assert [event.text for event in execution.trace.events[:2]] == ["Do it.", "I look around."]
    assert execution.trace.events[1].time == pytest.approx(4, abs=0.01)


def test_a_run_that_was_killed_has_what_it_did_until_then(tmp_path: Path, program: Path) -> None:
    run = agent_run(tmp_path)
    runtime = adapter(program)
    runtime.prepare(run)
    data = read_document(DATA / "tools.json").data
    data["messages"] = data["messages"][:5]
    (run.state / "trajectory.json").write_text('{"messages": [')
    execution = runtime.collect(run, Completed(exit_code=-9, stderr=b"killed"))
    assert execution.flags == (Flag.TRACE_LINES_UNREADABLE,)

    (run.state / "trajectory.json").write_text(json.dumps(data))
    execution = runtime.collect(run, Completed(exit_code=-9, stderr=b"killed"))
    assert execution.status is Status.AGENT_ERROR
    assert execution.message == "it ended before it was done, with exit code -9: killed"
    assert len(execution.trace.calls) == 2
    assert execution.usage.requests == 1


def test_probe_says_what_it_can_do(program: Path) -> None:
    info = adapter(program).probe()
    assert (info.endpoint, info.capabilities) == (True, ("network",))
