"""The adapter of OpenHands and its transcripts, which the real runtime wrote."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Completed, Usage
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.ending import ended
from pytest_agentbench.runtimes.openhands import OpenHands
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import EventKind, Trace
from pytest_agentbench.trace.openhands import LIMIT, parse, reached_limit
from pytest_agentbench.trace.transcript import Transcript, read_rows
from pytest_agentbench.trial import AgentRun
from tests import transcripts
from tests.transcripts import calls, profile, script

DATA = transcripts.DATA / "openhands"
WS = "/home/agent/ws"

Row = dict[str, Any]


def rows(name: str) -> tuple[list[Row], Row]:
    """The events of a conversation, and its state, which is the last row."""
    *events, last = read_rows(DATA / f"{name}.jsonl").rows
    return (events, last["base_state"]) if "base_state" in last else ([*events, last], {})


def read(name: str, *workers: str) -> Transcript:
    return parse(*rows(name), [rows(worker)[0] for worker in workers])


def test_native_calls_are_canonical_calls() -> None:
    assert calls(read("tools")) == [
        ("exec", {"command": "cat notes.txt"}),
        ("exec", {"command": "cat missing.txt"}),
        ("write", {"path": f"{WS}/grüße.txt", "content": "größer – 東京\n"}),
        ("edit", {"path": f"{WS}/notes.txt", "old": "nowhere", "new": "x"}),
        ("edit", {"path": f"{WS}/notes.txt", "old": "two", "new": "zwei ✓"}),
        ("read", {"path": f"{WS}/notes.txt"}),
        ("edit", {"path": f"{WS}/notes.txt", "new": "mitte\n"}),
        ("other", {}),
        # Arguments that are no JSON.
        ("exec", {}),
        ("other", {}),
        ("other", {}),
        ("exec", {"command": "printf 'x\\ny\\n'; exit 3"}),
        ("exec", {"command": "cat"}),
        ("exec", {"command": "C-d"}),
        ("other", {}),
    ]


def test_results_say_what_failed() -> None:
    found = Trace(events=read("tools").events)
    assert [(r.call_id, r.native_name, r.status) for r in found.results] == [
        ("call_0_0", "terminal", 200),
        ("call_0_1", "terminal", 500),
        ("call_1_0", "file_editor", 200),
        ("call_1_1", "file_editor", 500),
        ("call_2_0", "file_editor", 200),
        ("call_2_1", "file_editor", 200),
        ("call_2_2", "file_editor", 200),
        ("call_3_0", "no_such_tool", 500),
        ("call_3_1", "terminal", 500),
        ("call_4_0", "think", 200),
        ("call_4_1", "task_tracker", 200),
        # It ended the shell that all commands are typed into.
        ("call_5_0", "terminal", 500),
        # It still runs.
        ("call_6_0", "terminal", None),
        ("call_7_0", "terminal", 500),
        ("call_8_0", "finish", 200),
    ]
    assert found.results[1].text == "cat: missing.txt: No such file or directory"
    assert found.results[1].native["exit_code"] == 1
    assert found.results[7].text.startswith("Tool 'no_such_tool' not found.")


def test_what_the_agent_finishes_with_is_its_answer() -> None:
    found = Trace(events=read("tools").events)
    assert found.response == "I look around.\nA tool that is not there.\nDone: größer."


def test_parallel_calls_come_before_their_results_and_times_grow() -> None:
    events = read("tools").events
    kinds = [event.kind for event in events[1:5]]
    assert kinds == [EventKind.CALL, EventKind.CALL, EventKind.RESULT, EventKind.RESULT]
    times = [event.time or 0 for event in events]
    assert times == sorted(times)
    assert 0 < times[0] < times[-1] < 120
    # A call that cannot be carried out is answered before the next one of its turn.
    assert Trace(events=events).steps == 10


def test_usage_counts_each_answer_once_and_cached_tokens_apart() -> None:
    assert read("tools").usage == Usage(
        input_tokens=576,
        output_tokens=126,
        cache_read_tokens=360,
        cache_write_tokens=0,
        reasoning_tokens=27,
        requests=9,
    )


def test_what_its_agents_do_is_in_the_trace_but_not_what_they_say() -> None:
    alone, both = read("agents"), read("agents", "agents-worker")
    done = ("exec", {"command": "printf sub > sub.txt"})
    assert done not in calls(alone)
    assert calls(both)[:2] == [
        (
            "delegate",
            {"prompt": "Write sub.txt", "description": "write", "subagent_type": "bash-runner"},
        ),
        done,
    ]
    assert Trace(events=both.events).response == "I have it done.\nDone."
    assert [event.time for event in both.events] == sorted(e.time or 0 for e in both.events)
    # The state of the conversation has what its agents used.
    assert alone.usage == both.usage
    assert both.usage.requests == 4


@pytest.mark.parametrize(
    ("name", "exit_code", "status", "message"),
    [
        ("tools", 0, Status.COMPLETED, ""),
        (
            "ending-429",
            0,
            Status.PROVIDER_ERROR,
            (
                "the model answered 429: litellm.RateLimitError: RateLimitError: OpenAIException - "
                "an injected fault, status 429"
            ),
        ),
        (
            "ending-401",
            0,
            Status.AUTH_ERROR,
            (
                "the model answered 401: litellm.AuthenticationError: OpenAIException - "
                "an injected fault, status 401"
            ),
        ),
        (
            "ending-404",
            0,
            Status.AGENT_ERROR,
            (
                "the model answered 404: litellm.NotFoundError: OpenAIException - "
                "an injected fault, status 404"
            ),
        ),
        (
            "ending-500",
            0,
            Status.PROVIDER_ERROR,
            (
                "litellm.InternalServerError: InternalServerError: OpenAIException - "
                "an injected fault, status 500"
            ),
        ),
        (
            "ending-refused",
            0,
            Status.PROVIDER_ERROR,
            (
                "litellm.InternalServerError: InternalServerError: OpenAIException - "
                "Connection error."
            ),
        ),
        (
            "ending-killed",
            -15,
            Status.AGENT_ERROR,
            "it ended before it was done, with exit code -15: no",
        ),
    ],
)
def test_the_end_is_told_by_the_transcript(
    name: str, exit_code: int, status: Status, message: str
) -> None:
    done = Completed(exit_code=exit_code, stderr=b"no\n")
    assert ended(read(name).ending, done) == (status, message)


def test_a_run_that_came_to_its_limit_or_repeated_itself_says_so() -> None:
    limit = {"kind": "ConversationErrorEvent", "code": LIMIT, "detail": "500 steps"}
    found = parse([limit], {"execution_status": "error"})
    assert found.ending is not None
    assert (found.ending.status, found.ending.message) == (Status.COMPLETED, "")
    assert reached_limit([limit])
    assert not reached_limit(rows("ending-429")[0])
    stuck = parse([], {"execution_status": "stuck"}).ending
    assert stuck is not None
    assert (stuck.status, stuck.message) == (
        Status.AGENT_ERROR,
        "it was stopped by itself for doing the same again and again",
    )


@pytest.mark.parametrize("value", [None, 1, "x", [], [1], {"id": [1]}])
def test_events_that_make_no_sense_raise_nothing(value: Any) -> None:
    keys = ("action", "code", "detail", "error", "llm_message", "observation", "thought")
    more = ("timestamp", "tool_call", "tool_call_id", "tool_name")
    kinds = ("ActionEvent", "AgentErrorEvent", "ConversationErrorEvent", "MessageEvent")
    events: list[Row] = []
    for kind in (*kinds, "ObservationEvent", "UserRejectObservation", value):
        fields = dict.fromkeys((*keys, *more), value)
        events.append({**fields, "kind": kind, "source": "agent"})
        inner = {"arguments": value, "content": value, "exit_code": value, "is_error": value}
        events.append(
            {"kind": kind, "source": "agent", "tool_call": inner, "observation": inner}
            | {"llm_message": inner, "thought": [value, {"text": value}]}
        )
    for state in ({}, {"stats": value}, {"stats": {"usage_to_metrics": {"agent": value}}}):
        parse(events, {**state, "execution_status": "error"}, [events])


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return script(tmp_path / "env" / "bin" / "openhands")


def agent_run(tmp_path: Path, prompt: str = "Do it.") -> AgentRun:
    return transcripts.agent_run(tmp_path, "openhands", prompt)


def adapter(program: Path, **options: Any) -> OpenHands:
    return OpenHands(profile("openhands", path=str(program), **options))


def test_each_run_has_state_and_shell_of_its_own_and_hides_its_key(
    tmp_path: Path, program: Path
) -> None:
    run = agent_run(tmp_path, "-v ü\n\ud800")
    runtime = adapter(program, args=["--always-approve"], env={"EXTRA": "1"})
    runtime.prepare(run)
    command = runtime.command(run)
    conversation = command.argv[3].removeprefix("--resume=")
    assert command.argv == (
        *(str(program), "--headless", "--json", f"--resume={conversation}"),
        *("--always-approve", "--task=-v ü\n?"),
    )
    assert command.env == {
        "OPENHANDS_PERSISTENCE_DIR": str(run.state / "openhands"),
        "OPENHANDS_CONVERSATIONS_DIR": str(run.state / "conversations"),
        "OPENHANDS_WORK_DIR": str(run.workspace),
        "OPENHANDS_SUPPRESS_BANNER": "1",
        "TMUX_TMPDIR": str(tmp_path / "tmp"),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "EXTRA": "1",
    }
    settings = json.loads((run.state / "openhands" / "agent_settings.json").read_text())
    for model in (settings["llm"], settings["condenser"]["llm"]):
        assert (model["model"], model["api_key"]) == ("openai/toy", "t0ken")
        assert model["base_url"] == "http://127.0.0.1:8080/v1"
        assert (model["num_retries"], model["timeout"]) == (1, 150)
    # In the place of a folder that it would fill from a server.
    assert (run.home / ".openhands/cache/skills/public-skills").is_file()


def put(run: AgentRun, runtime: OpenHands, name: str, *workers: str) -> Path:
    """Write a transcript as the runtime does; the folder of the conversation."""
    argument = next(a for a in runtime.command(run).argv if a.startswith("--resume="))
    folder = run.state / "conversations" / argument.removeprefix("--resume=").replace("-", "")
    events, state = rows(name)
    write(folder, events)
    (folder / "base_state.json").write_text(json.dumps(state))
    for worker in workers:
        write(folder / "subagents" / worker, rows(worker)[0])
    return folder


def write(folder: Path, events: Sequence[Row]) -> None:
    (folder / "events").mkdir(parents=True)
    for number, event in enumerate(events):
        (folder / "events" / f"event-{number:05}-{event['id']}.json").write_text(json.dumps(event))


def test_collect_reads_the_conversation_of_the_run_and_those_of_its_agents(
    tmp_path: Path, program: Path
) -> None:
    run, runtime = agent_run(tmp_path), adapter(program)
    put(run, runtime, "agents", "agents-worker")
    write(run.state / "conversations" / "another", rows("tools")[0])
    execution = runtime.collect(run, Completed(exit_code=0))
    assert (execution.status, execution.flags) == (Status.COMPLETED, ())
    assert [call.native_name for call in execution.trace.calls] == ["task", "terminal", "finish"]
    assert execution.trace.events[0].text == "Do it."
    assert execution.usage.requests == 4


def test_a_run_that_was_killed_has_what_it_did_until_then(tmp_path: Path, program: Path) -> None:
    run, runtime = agent_run(tmp_path), adapter(program)
    folder = put(run, runtime, "tools")
    (folder / "base_state.json").write_text("{")
    last = max((folder / "events").iterdir())
    last.write_bytes(last.read_bytes()[:-9])
    execution = runtime.collect(run, Completed(exit_code=-9, stderr=b"killed"))
    assert execution.status is Status.AGENT_ERROR
    assert execution.message == "it ended before it was done, with exit code -9: killed"
    assert execution.flags == (Flag.TRACE_LINES_UNREADABLE,)
    assert (len(execution.trace.calls), len(execution.trace.results)) == (15, 14)


def test_probe_says_what_it_can_do_and_how_it_is_installed(program: Path) -> None:
    info = adapter(program).probe()
    assert (info.endpoint, info.capabilities) == (True, ("agents", "network", "skills"))
    assert "python3.12 -m venv" in OpenHands.package.install()
