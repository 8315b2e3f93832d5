"""The adapter of nanobot and its transcripts, which the real runtime wrote."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Completed, Usage
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.ending import ended
from pytest_agentbench.runtimes.nanobot import Nanobot
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import EventKind, Trace
from pytest_agentbench.trace.nanobot import parse
from pytest_agentbench.trace.transcript import Transcript, read_rows
from pytest_agentbench.trial import AgentRun
from tests import transcripts
from tests.transcripts import profile, script

DATA = transcripts.DATA / "nanobot"


def read(name: str, checkpoint: str = "") -> Transcript:
    left = read_rows(DATA / f"{checkpoint}.jsonl").rows
    return parse(read_rows(DATA / f"{name}.jsonl").rows, left[0] if left else None)


def test_native_calls_are_canonical_calls() -> None:
    trace = Trace(events=read("tools").events)
    assert [(call.native_name, call.tool, dict(call.args)) for call in trace.calls] == [
        ("list_dir", "search", {"path": "."}),
        ("read_file", "read", {"path": "notes.txt"}),
        ("write_file", "write", {"path": "grüße.txt", "content": "Grüße, 世界 — naïve ☃\n"}),
        ("read_file", "read", {"path": "missing.txt"}),
        ("nosuch", "other", {}),
        ("edit_file", "edit", {"path": "notes.txt", "old": "alpha", "new": "ALPHA"}),
        ("exec", "exec", {"command": "cat notes.txt && exit 3"}),
        ("exec", "exec", {"command": "echo ja"}),
        ("grep", "search", {"path": ".", "query": "ALPHA"}),
        ("apply_patch", "edit", {"path": "notes.txt", "old": "beta", "new": "BETA"}),
        ("cron", "schedule", {"action": "list"}),
        ("web_fetch", "browse", {"url": "http://127.0.0.1:9/"}),
    ]


def test_results_say_what_failed() -> None:
    found = Trace(events=read("tools").events)
    assert [(r.call_id, r.native_name, r.status) for r in found.results] == [
        ("call_1_1", "list_dir", 200),
        ("call_1_2", "read_file", 200),
        ("call_1_3", "write_file", 200),
        ("call_2_1", "read_file", 500),
        ("call_2_2", "nosuch", 500),
        ("call_3_1", "edit_file", 200),
        ("call_3_2", "exec", 500),
        ("call_3_3", "exec", 200),
        ("call_3_4", "grep", 200),
        ("call_4_1", "apply_patch", 200),
        ("call_4_2", "cron", 200),
        ("call_4_3", "web_fetch", 500),
    ]
    assert found.results[3].text.startswith("Error: File not found: missing.txt")
    assert found.response == "Ich sehe mich um.\nFertig: grüße.txt geschrieben."


def test_parallel_calls_come_before_their_results() -> None:
    events = read("tools").events
    assert [event.kind for event in events[:5]] == [
        *(EventKind.ASSISTANT, EventKind.CALL, EventKind.CALL, EventKind.CALL, EventKind.RESULT)
    ]
    assert Trace(events=events).steps == 5


def test_only_the_time_of_the_last_answer_is_one() -> None:
    # The others were written together with it.
    *before, last = read("tools").events
    assert {event.time for event in before} == {None}
    assert last.time is not None
    assert 0 < last.time < 60


def test_the_native_payload_is_kept() -> None:
    trace = Trace(events=read("tools").events)
    assert trace.calls[1].native == {"path": "notes.txt"}
    assert trace.results[0].native["role"] == "tool"


def test_usage_counts_cached_tokens_apart() -> None:
    assert read("tools").usage == Usage(
        input_tokens=6000 - 35,
        output_tokens=110,
        cache_read_tokens=35,
        requests=5,
    )


FAILED = "[Assistant reply unavailable due to model error.]"


@pytest.mark.parametrize(
    ("name", "exit_code", "status", "message"),
    [
        ("tools", 0, Status.COMPLETED, ""),
        ("tools", 137, Status.AGENT_ERROR, "it ended after it was done, with exit code 137: no"),
        # It exits with 0 whatever happened.
        ("ending-500", 0, Status.PROVIDER_ERROR, FAILED),
        ("ending-cut", 0, Status.PROVIDER_ERROR, FAILED),
        ("ending-length", 0, Status.COMPLETED, ""),
        ("ending-empty", 0, Status.AGENT_ERROR, "its model said nothing"),
        (
            "ending-killed",
            -9,
            Status.AGENT_ERROR,
            "it ended before it was done, with exit code -9: no",
        ),
    ],
)
def test_the_end_is_told_by_the_transcript(
    name: str, exit_code: int, status: Status, message: str
) -> None:
    done = Completed(exit_code=exit_code, stderr=b"no\n")
    assert ended(read(name).ending, done) == (status, message)


def test_a_failed_model_call_is_nothing_that_was_said() -> None:
    assert read("ending-500").events == ()


@pytest.mark.parametrize("value", [None, 1, "x", [], [1], {"id": [1]}, [{"id": [1]}]])
def test_rows_that_make_no_sense_raise_nothing(value: Any) -> None:
    keys = ("content", "tool_calls", "tool_call_id", "name", "timestamp")
    function = {"name": value, "arguments": value}
    known = {"function": {"name": "apply_patch", "arguments": json.dumps({"edits": value})}}
    rows: list[dict[str, Any]] = [
        {"_type": "metadata", "created_at": value, "metadata": value},
        {"_type": "metadata", "metadata": {"_last_usage": value}},
        *({"role": role} | dict.fromkeys(keys, value) for role in ("user", "assistant", "tool")),
        {"role": "assistant", "tool_calls": [{"function": function, "id": value}, value, known]},
    ]
    parse(rows)
    parse([rows[1]], {"checkpoint": value})
    parse(rows, {"checkpoint": {"assistant_message": value, "completed_tool_results": value}})


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """What pip makes of the package, without what it does."""
    info = tmp_path / "venv" / "lib" / "python3.11" / "site-packages" / "nanobot_ai-0.3.5.dist-info"
    info.mkdir(parents=True)
    return script(tmp_path / "venv" / "bin" / "nanobot", "exit 1")


def agent_run(tmp_path: Path, prompt: str = "--help ü") -> AgentRun:
    return transcripts.agent_run(tmp_path, "nanobot", prompt, model="a/model")


def nanobot(program: Path, **options: Any) -> Nanobot:
    return Nanobot(profile("nanobot", path=str(program), **options))


def test_the_command_has_a_configuration_of_its_own(tmp_path: Path, program: Path) -> None:
    run = agent_run(tmp_path)
    runtime = nanobot(program, args=["--logs"], env={"EXTRA": "1"}, context_window=1000)
    runtime.prepare(run)
    command = runtime.command(run)
    (folder,) = (run.state / "sessions").iterdir()
    assert command.argv == (
        *(str(program), "agent", "--no-markdown", f"--workspace={run.workspace}"),
        *(f"--config={run.state / 'config.json'}", f"--session=cli:{folder.name}"),
        *("--logs", "--message=--help ü"),
    )
    assert command.env == {"NO_COLOR": "1", "TZ": "UTC", "COLUMNS": "1000", "EXTRA": "1"}
    assert tmp_path / "venv" / "lib" in command.view.readable
    # So it takes this folder for the sessions of the workspace, and draws no other name.
    assert (folder / ".workspace").read_text() == f"{run.workspace}\n"
    config = json.loads((run.state / "config.json").read_text())
    assert config["providers"] == {
        "custom": {"apiKey": "t0ken", "apiBase": "http://127.0.0.1:8080/v1"}
    }
    assert config["agents"]["defaults"] == {
        "workspace": str(run.workspace),
        "model": "a/model",
        "provider": "custom",
        "contextWindowTokens": 1000,
    }


def test_a_prompt_that_looks_like_a_command_gets_to_the_model(
    tmp_path: Path, program: Path
) -> None:
    argv = nanobot(program).command(agent_run(tmp_path, " /etc/hosts names what?")).argv
    assert argv[-1] == "--message=\u200b /etc/hosts names what?"


def put(runtime: Nanobot, run: AgentRun, name: str, checkpoint: str = "") -> None:
    """Lay the transcript where the program lays it: its name is that of the session in base64."""
    runtime.prepare(run)
    (folder,) = (run.state / "sessions").iterdir()
    stem = base64.urlsafe_b64encode(f"cli:{folder.name}".encode()).decode().rstrip("=")
    shutil.copy(DATA / f"{name}.jsonl", folder / f"{stem}.jsonl")
    if checkpoint:
        shutil.copy(DATA / f"{checkpoint}.jsonl", folder / f"{stem}.checkpoint.json")


def test_the_transcript_is_the_one_of_the_session_of_this_run(
    tmp_path: Path, program: Path
) -> None:
    run, runtime = agent_run(tmp_path), nanobot(program)
    put(runtime, run, "tools")
    later = run.state / "sessions" / ("f" * 32)
    later.mkdir()
    shutil.copy(DATA / "ending-500.jsonl", later / "Y2xpOmRpcmVjdA.jsonl")
    execution = runtime.collect(run, Completed(exit_code=0))
    assert (execution.status, execution.flags) == (Status.COMPLETED, ())
    assert execution.trace.events[0].text == "--help ü"
    assert execution.trace.events[1:] == read("tools").events
    assert execution.usage.requests == 5


def test_what_failed_is_on_the_screen_alone(tmp_path: Path, program: Path) -> None:
    run, runtime = agent_run(tmp_path), nanobot(program)
    put(runtime, run, "ending-500")
    said = "🐈 nanobot\nError: {'message': 'scripted 500', 'code': None}\n\n".encode()
    execution = runtime.collect(run, Completed(exit_code=0, stdout=said))
    assert (execution.status, execution.message) == (
        Status.PROVIDER_ERROR,
        "Error: {'message': 'scripted 500', 'code': None}",
    )


def test_of_a_turn_that_was_killed_there_is_the_last_step(tmp_path: Path, program: Path) -> None:
    run, runtime = agent_run(tmp_path), nanobot(program)
    put(runtime, run, "ending-killed", "ending-killed-checkpoint")
    execution = runtime.collect(run, Completed(exit_code=-9, stderr=b"killed"))
    assert execution.status is Status.AGENT_ERROR
    assert execution.message == "it ended before it was done, with exit code -9: killed"
    assert execution.flags == (Flag.TRACE_CUT,)
    assert [dict(call.args) for call in execution.trace.calls] == [
        {"path": "a.txt", "content": "1\n"}
    ]
    assert execution.trace.response == "One."


def test_a_run_that_reached_its_bound_of_steps_is_flagged(tmp_path: Path, program: Path) -> None:
    run, runtime = agent_run(tmp_path), nanobot(program)
    put(runtime, run, "tools")
    (path,) = run.state.glob("sessions/*/*.jsonl")
    said = "I reached the maximum number of tool call iterations (200) without completing the task."
    with path.open("a") as file:
        file.write(json.dumps({"role": "assistant", "content": said}) + "\n")
    execution = runtime.collect(run, Completed(exit_code=0))
    assert (execution.status, execution.flags) == (Status.COMPLETED, (Flag.MAX_TURNS,))


def test_probe_says_version_and_capabilities(program: Path) -> None:
    info = nanobot(program).probe()
    assert (info.version, info.endpoint) == ("0.3.5", True)
    assert info.capabilities == ("agents", "cron", "memory", "network", "sessions", "skills")
