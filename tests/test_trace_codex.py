"""The adapter of Codex and its transcripts, which the real runtime wrote."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Completed, Usage
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.codex import Codex
from pytest_agentbench.runtimes.ending import ended
from pytest_agentbench.status import Status
from pytest_agentbench.trace.codex import parse
from pytest_agentbench.trace.events import EventKind, Trace
from pytest_agentbench.trace.transcript import Transcript, read_rows
from pytest_agentbench.trial import AgentRun
from tests import transcripts
from tests.transcripts import calls, profile, script

DATA = transcripts.DATA / "codex"


def read(name: str, *workers: str) -> Transcript:
    rows, *others = (read_rows(DATA / f"{each}.jsonl").rows for each in (name, *workers))
    return parse(rows, others)


def test_native_calls_are_canonical_calls() -> None:
    assert calls(read("tools")) == [
        ("exec", {"command": "cat notes.txt"}),
        ("exec", {"command": "ls -1"}),
        ("exec", {"command": "cat missing.txt"}),
        ("exec", {"command": "printf 'größer – 東京\\n' > grüße.txt"}),
        ("read", {"path": "dot.png"}),
        ("other", {}),
        ("exec", {}),
        ("read", {"path": "missing.png"}),
        ("write", {"path": "new.txt", "content": "ü one\ntwo\n"}),
        ("edit", {"path": "new.txt", "paths": ["new.txt", "notes.txt", "sub/notes.txt"]}),
        ("edit", {"path": "new.txt"}),
        # A command that the runtime takes for a patch.
        ("edit", {"path": "new.txt"}),
        ("exec", {"command": "cat"}),
        ("exec", {"command": "hello\n\x04"}),
    ]


def test_results_say_what_failed() -> None:
    found = Trace(events=read("tools").events)
    assert [(r.call_id, r.native_name, r.status) for r in found.results] == [
        ("call_0_0", "exec_command", 200),
        ("call_0_1", "exec_command", 200),
        ("call_1_0", "exec_command", 500),
        ("call_2_0", "exec_command", 200),
        ("call_2_1", "view_image", 200),
        ("call_2_2", "no_such_tool", 500),
        ("call_2_3", "exec_command", 500),
        ("call_2_4", "view_image", 500),
        ("call_3_0", "apply_patch", 200),
        ("call_4_0", "apply_patch", 200),
        ("call_5_0", "apply_patch", 500),
        ("call_6_0", "exec_command", 200),
        # It still runs, and ends with what is typed into it next.
        ("call_7_0", "exec_command", None),
        ("call_8_0", "write_stdin", 200),
    ]
    assert "cat: missing.txt: No such file or directory" in found.results[2].text
    assert found.response == "I look around.\nDone: größer."


def test_parallel_calls_come_before_their_results_and_times_grow() -> None:
    events = read("tools").events
    kinds = [event.kind for event in events[1:5]]
    assert kinds == [EventKind.CALL, EventKind.CALL, EventKind.RESULT, EventKind.RESULT]
    times = [event.time for event in events]
    assert None not in times
    assert times == sorted(times)
    assert 0 < times[0] < times[-1] < 60
    assert Trace(events=events).steps == 10


def test_the_native_payload_is_kept() -> None:
    events = read("tools").events
    assert events[1].native == {"cmd": "cat notes.txt"}
    assert events[3].native["type"] == "function_call_output"


def test_usage_counts_each_answer_once_and_cached_tokens_apart() -> None:
    assert read("tools").usage == Usage(
        input_tokens=9730,
        output_tokens=245,
        cache_read_tokens=315,
        cache_write_tokens=0,
        reasoning_tokens=30,
        requests=10,
    )


def test_calls_of_a_script_are_in_the_trace() -> None:
    found = read("script")
    assert sorted(calls(found)[1:3], key=str) == [
        ("exec", {"command": "cat missing.txt"}),
        ("exec", {"command": "echo größer"}),
    ]
    assert calls(found)[3:] == [
        ("other", {}),
        ("write", {"path": "/home/agent/ws/new.txt", "content": "ü one\n"}),
        ("edit", {"path": "/home/agent/ws/new.txt"}),
        ("read", {"path": "/home/agent/ws/dot.png"}),
        ("other", {}),
    ]
    results = {r.text.partition("\n")[0]: r.status for r in Trace(events=found.events).results}
    assert results["cat: missing.txt: No such file or directory"] == 500
    assert results["größer"] == 200
    assert results["Script completed"] == 200
    assert results["Script failed"] == 500
    # "exec" is the canonical name of another thing.
    assert found.events[0].native_name == "functions.exec"


def test_what_its_agents_do_is_in_the_trace_but_not_what_they_say() -> None:
    alone, both = read("agents"), read("agents", "agents-worker")
    done = ("exec", {"command": "printf sub > sub.txt"})
    assert done not in calls(alone)
    assert done in calls(both)
    assert Trace(events=both.events).response == "Done."
    assert (alone.usage.requests, both.usage.requests) == (3, 5)
    assert [event.time for event in both.events] == sorted(e.time or 0 for e in both.events)


@pytest.mark.parametrize(
    ("name", "exit_code", "status", "message"),
    [
        ("tools", 0, Status.COMPLETED, ""),
        ("tools", 137, Status.AGENT_ERROR, "it ended after it was done, with exit code 137: no"),
        (
            "ending-429",
            1,
            Status.PROVIDER_ERROR,
            "the model answered 429: exceeded retry limit, last status: 429 Too Many Requests",
        ),
        (
            "ending-500",
            1,
            Status.PROVIDER_ERROR,
            "We’re currently experiencing high demand, which may cause temporary errors.",
        ),
        (
            "ending-401",
            1,
            Status.AUTH_ERROR,
            (
                "the model answered 401: unexpected status 401 Unauthorized: the key is wrong, "
                "url: http://127.0.0.1:8080/v1/responses"
            ),
        ),
        ("ending-404", 1, Status.AGENT_ERROR, "there is no such model"),
        (
            "ending-cut",
            1,
            Status.PROVIDER_ERROR,
            "stream disconnected before completion: stream closed before response.completed",
        ),
        (
            "ending-refused",
            1,
            Status.PROVIDER_ERROR,
            "Connection failed: error sending request",
        ),
        (
            "ending-context",
            1,
            Status.CONTEXT_EXHAUSTED,
            (
                "Codex ran out of room in the model's context window. Start a new thread or clear "
                "earlier history before retrying."
            ),
        ),
        (
            "ending-refusal",
            1,
            Status.REFUSAL,
            (
                "stream disconnected before completion: Incomplete response returned, reason: "
                "content_filter"
            ),
        ),
        (
            "ending-length",
            1,
            Status.AGENT_ERROR,
            "Incomplete response returned, reason: max_output_tokens",
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


def test_rows_that_are_none_are_counted_but_not_half_a_last_one(tmp_path: Path) -> None:
    good = (DATA / "tools.jsonl").read_bytes()
    (tmp_path / "r").write_bytes(good + b'{"type": "respo')
    assert read_rows(tmp_path / "r").flags == ()
    (tmp_path / "r").write_bytes(b"[]\n\xff\n" + b"[" * 100_000 + b"\n" + good)
    rows = read_rows(tmp_path / "r")
    assert rows.flags == (Flag.TRACE_LINES_UNREADABLE,)
    assert parse(rows.rows) == read("tools")
    (tmp_path / "r").write_text(json.dumps({"text": "\udc00"}) + "\n")
    assert read_rows(tmp_path / "r").rows == ({"text": "?"},)


@pytest.mark.parametrize("value", [None, 1, "x", [], [1], {"id": [1]}])
def test_rows_that_make_no_sense_raise_nothing(value: Any) -> None:
    kinds = ("session_meta", "response_item", "event_msg", "token_usage_record")
    names = ("message", "function_call", "function_call_output", "item_completed", "task_complete")
    rows = [{"type": kind, "payload": value, "timestamp": value} for kind in kinds]
    for kind in kinds:
        for name in names:
            keys = ("arguments", "call_id", "content", "error", "item", "name", "output", "usage")
            fields = dict.fromkeys(keys, value) | {"type": name, "role": "assistant"}
            rows.append({"type": kind, "payload": fields, "timestamp": "2026-01-01T00:00:00Z"})
    parse(rows, [rows])


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A file where an installation has its program."""
    folder = tmp_path / "lib" / "node_modules" / "@openai" / "codex"
    return script(folder / "bin" / "codex", "echo codex-cli 0.171.0")


def agent_run(tmp_path: Path, **scenario: Any) -> AgentRun:
    return transcripts.agent_run(tmp_path, "codex", "-v ü", model='to"y', **scenario)


def codex(program: Path, **options: Any) -> Codex:
    return Codex(profile("codex", path=str(program), **options))


def test_the_command_has_a_private_home_and_no_prompt_among_its_arguments(
    tmp_path: Path, program: Path
) -> None:
    run = agent_run(tmp_path)
    runtime = codex(program, args=["-c", "x=1"], env={"EXTRA": "1"})
    runtime.prepare(run)
    command = runtime.command(run)
    assert command.argv == (
        *(str(program), "exec", "--json", "--skip-git-repo-check"),
        *("-C", str(run.workspace), "-c", "x=1", "-"),
    )
    assert command.stdin == "-v ü".encode()
    assert command.env == {
        "CODEX_HOME": str(run.state / "codex"),
        "AGENTBENCH_MODEL_KEY": "t0ken",
        "EXTRA": "1",
    }
    assert tmp_path / "lib" / "node_modules" in command.view.readable
    config = tomllib.loads((run.state / "codex" / "config.toml").read_text("utf-8"))
    assert config["model"] == 'to"y'
    assert config["web_search"] == "disabled"
    provider = config["model_providers"][config["model_provider"]]
    assert provider["base_url"] == "http://127.0.0.1:8080/v1"
    assert provider["env_key"] == "AGENTBENCH_MODEL_KEY"
    assert provider["stream_idle_timeout_ms"] > 90_000
    assert config["shell_environment_policy"] == {"exclude": ["AGENTBENCH_MODEL_KEY"]}


def test_a_scenario_that_requires_the_network_may_search_it(tmp_path: Path, program: Path) -> None:
    run = agent_run(tmp_path, requires=("network",))
    codex(program).prepare(run)
    config = tomllib.loads((run.state / "codex" / "config.toml").read_text("utf-8"))
    assert config["web_search"] == "live"


def test_the_native_program_is_started_where_there_is_one(tmp_path: Path, program: Path) -> None:
    place = "@openai/codex-linux/vendor", f"{os.uname().machine}-unknown-linux-musl/bin/codex"
    native = tmp_path.joinpath("lib", "node_modules", *place)
    native.parent.mkdir(parents=True)
    shutil.copy(program, native)
    assert codex(program).command(agent_run(tmp_path)).argv[0] == str(native)


def put(run: AgentRun, name: str, thread: str) -> None:
    folder = run.state / "codex" / "sessions" / "2026" / "01" / "02"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(DATA / f"{name}.jsonl", folder / f"rollout-{thread}.jsonl")


def test_the_transcript_is_the_one_of_the_thread_that_was_started(
    tmp_path: Path, program: Path
) -> None:
    run = agent_run(tmp_path)
    put(run, "agents-worker", "a")
    put(run, "agents", "b")
    main = json.loads((DATA / "agents.jsonl").read_text("utf-8").partition("\n")[0])
    said = {"type": "thread.started", "thread_id": main["payload"]["id"]}
    done = Completed(exit_code=0, stdout=json.dumps(said).encode() + b"\n{}\n")
    execution = codex(program).collect(run, done)
    assert (execution.status, execution.message) == (Status.COMPLETED, "")
    assert execution.trace.events[0].text == "-v ü"
    assert execution.trace.response == "Done."
    assert [call.native_name for call in execution.trace.calls] == [
        *("spawn_agent", "exec_command", "exec_command")
    ]
    # Nobody says which of two it is: then both did what they did, and neither gave the answer.
    execution = codex(program).collect(run, Completed(exit_code=0))
    assert execution.status is Status.AGENT_ERROR
    assert (len(execution.trace.calls), execution.trace.response) == (3, "")


def test_a_run_that_was_killed_has_what_it_did_until_then(tmp_path: Path, program: Path) -> None:
    run = agent_run(tmp_path)
    put(run, "ending-killed", "a")
    execution = codex(program).collect(run, Completed(exit_code=-9, stderr=b"killed"))
    assert execution.status is Status.AGENT_ERROR
    assert execution.message == "it ended before it was done, with exit code -9: killed"
    assert execution.trace.response == "I start."
    assert execution.usage.requests == 1


def test_probe_says_version_and_capabilities(program: Path) -> None:
    info = codex(program).probe()
    assert (info.version, info.endpoint) == ("0.171.0", True)
    assert len(info.digest) == 64
    assert info.capabilities == ("agents", "network", "skills")
