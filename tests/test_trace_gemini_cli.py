"""The adapter of Gemini CLI and its transcripts, which the real runtime wrote."""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Completed, Usage
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.ending import ended
from pytest_agentbench.runtimes.gemini_cli import GeminiCli
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import EventKind, Trace
from pytest_agentbench.trace.gemini_cli import SURFACE, parse
from pytest_agentbench.trace.transcript import Transcript, read_rows
from pytest_agentbench.trial import AgentRun
from tests import transcripts
from tests.transcripts import calls, profile, script

DATA = transcripts.DATA / "gemini-cli"


def read(name: str, *workers: str, exit_code: int = 0) -> Transcript:
    rows, *others = (read_rows(DATA / f"{each}.jsonl").rows for each in (name, *workers))
    stream = read_rows(DATA / f"{name}.stream.jsonl").rows
    return parse(rows, others, stream=stream, exit_code=exit_code)


def test_native_calls_are_canonical_calls() -> None:
    assert calls(read("tools")) == [
        ("read", {"path": "notes.txt"}),
        ("exec", {"command": "ls -1"}),
        ("search", {"query": "**/*.txt"}),
        ("exec", {"command": "cat missing.txt"}),
        ("read", {"path": "none.txt"}),
        ("other", {}),
        ("exec", {}),
        ("write", {"path": "grüße.txt", "content": "größer – 東京\n"}),
        ("edit", {"path": "grüße.txt", "old": "größer", "new": "größte"}),
        ("search", {"query": "東京"}),
        ("browse", {"url": "http://127.0.0.1:9/x"}),
        ("skill", {"skill": "nothing"}),
        ("search", {"path": "."}),
        ("edit", {"path": "notes.txt", "old": "nicht da", "new": "x"}),
    ]


def test_results_say_what_failed() -> None:
    found = Trace(events=read("tools").events)
    assert [(r.native_name, r.status) for r in found.results] == [
        ("read_file", 200),
        ("run_shell_command", 200),
        ("glob", 200),
        ("run_shell_command", 500),
        ("read_file", 500),
        ("no_such_tool", 500),
        ("run_shell_command", 500),
        ("write_file", 200),
        ("replace", 200),
        ("grep_search", 200),
        ("web_fetch", 500),
        ("activate_skill", 500),
        ("list_directory", 200),
        ("replace", 500),
    ]
    assert found.results[0].call_id == "read_file__call0x0"
    assert found.results[0].text == "one größer\ntwo\n"
    assert "Exit Code: 1" in found.results[3].text
    assert found.response == "I look around.\nDone: größer."


@pytest.mark.parametrize(
    ("output", "below", "status"),
    [
        ("Exit Code: 1", "", 200),
        ("x", "Exit Code: 2\n", 500),
        ("x", "Signal: 9\n", 500),
        ("x", "Error: spawn failed\n", 500),
        ("", "Exit Code: 1\n", 500),
    ],
)
def test_a_command_failed_if_the_runtime_says_so_below_what_it_printed(
    output: str, below: str, status: int
) -> None:
    text = f"<untrusted_context>\nOutput: {output or '(empty)'}\n{below}Process Group PGID: 7\n"
    response = {"functionResponse": {"response": {"output": text}}}
    native = {"name": "run_shell_command", "status": "success", "result": [response]}
    rows = [{"id": "1", "type": "gemini", "toolCalls": [{**native, "resultDisplay": output}]}]
    assert [event.status for event in parse(rows).events] == [None, status]


def test_parallel_calls_come_before_their_results_and_times_count_from_the_start() -> None:
    events = read("tools").events
    kinds = [event.kind for event in events[:7]]
    assert kinds == [EventKind.ASSISTANT, *[EventKind.CALL] * 3, *[EventKind.RESULT] * 3]
    times = [event.time or 0.0 for event in events]
    assert 0 < times[0] < times[-1] < 60
    assert times == sorted(times)
    assert events[2].native == {"command": "ls -1", "description": "List"}
    assert events[5].native["displayName"] == "Shell"


def test_each_answer_counts_once_although_it_is_written_twice() -> None:
    assert read("tools").usage == Usage(
        input_tokens=49952,
        output_tokens=166,
        cache_read_tokens=0,
        reasoning_tokens=0,
        requests=6,
    )
    tokens = {"input": 5000, "cached": 4000, "tool": 7, "output": 20, "thoughts": 300}
    rows = [{"id": "1", "type": "gemini", "tokens": tokens}]
    assert parse(rows).usage == Usage(
        input_tokens=1007,
        output_tokens=320,
        cache_read_tokens=4000,
        reasoning_tokens=300,
        requests=1,
    )


def test_what_its_agents_do_is_in_the_trace_but_not_what_they_say() -> None:
    both = read("agents", "agents-worker")
    assert calls(both) == [
        ("delegate", {"agent_name": "generalist", "prompt": "Write sub.txt."}),
        ("exec", {"command": "printf sub > sub.txt"}),
        ("other", {}),
    ]
    assert Trace(events=both.events).response == "Done."
    assert (read("agents").usage.requests, both.usage.requests) == (2, 4)


@pytest.mark.parametrize(
    ("name", "exit_code", "status", "message"),
    [
        ("tools", 0, Status.COMPLETED, ""),
        ("tools", 137, Status.AGENT_ERROR, "it ended after it was done, with exit code 137: no"),
        (
            "ending-429",
            173,
            Status.PROVIDER_ERROR,
            (
                "the model answered 429: [API Error: told to answer 429]\nPlease wait and try "
                "again later. To increase your limits, request a quota increase through AI "
                "Studio, or switch to another /auth method"
            ),
        ),
        (
            "ending-500",
            244,
            Status.PROVIDER_ERROR,
            (
                'the model answered 500: [API Error: {"error":{"code":500,"message":"told to '
                'answer 500","status":"INTERNAL"}}]'
            ),
        ),
        (
            "ending-401",
            145,
            Status.AUTH_ERROR,
            (
                'the model answered 401: [API Error: {"error":{"code":401,"message":"told to '
                'answer 401","status":"UNAUTHENTICATED"}}]'
            ),
        ),
        ("ending-404", 1, Status.AGENT_ERROR, "[API Error: told to answer 404]"),
        (
            "ending-context",
            144,
            Status.CONTEXT_EXHAUSTED,
            (
                '[API Error: {"error":{"code":400,"message":"The input token count (1200000) '
                'exceeds the maximum number of tokens allowed (1048576).",'
                '"status":"INVALID_ARGUMENT"}}]'
            ),
        ),
        (
            "ending-refused",
            1,
            Status.PROVIDER_ERROR,
            "[API Error: exception TypeError: fetch failed sending request]",
        ),
        # It ends with 0 when it is told to stop.
        (
            "ending-killed",
            0,
            Status.AGENT_ERROR,
            "it ended before it was done, with exit code 0: no",
        ),
    ],
)
def test_the_end_is_told_by_the_last_event(
    name: str, exit_code: int, status: Status, message: str
) -> None:
    done = Completed(exit_code=exit_code, stderr=b"no\n")
    assert ended(read(name, exit_code=exit_code).ending, done) == (status, message)


def test_an_answer_that_was_blocked_is_a_refusal() -> None:
    said = "The model response was blocked due to safety settings."
    stream = [
        {"type": "error", "severity": "error", "message": said},
        {"type": "result", "status": "error"},
    ]
    ending = parse([], stream=stream, exit_code=0).ending
    assert ending is not None
    assert (ending.status, ending.message) == (Status.REFUSAL, said)


def test_where_the_last_event_was_cut_off_the_chat_tells_the_end() -> None:
    rows = read_rows(DATA / "tools.jsonl").rows
    ending = parse(rows, cut=True, exit_code=0).ending
    assert ending is not None
    assert ending.status is Status.COMPLETED
    assert parse(rows, exit_code=0).ending is None
    assert parse(rows[:-1], cut=True, exit_code=0).ending is None
    assert parse(rows, cut=True, exit_code=1).ending is None


def test_what_a_killed_run_called_last_is_told_by_its_events_alone() -> None:
    found = read("ending-killed")
    assert calls(found) == [("exec", {"command": "echo 1; sleep 60"})]
    assert Trace(events=found.events).results == ()
    assert found.usage.requests == 1


def test_of_several_files_at_once_the_first_is_told() -> None:
    many = SURFACE.call("read_many_files", {"include": ["a.txt", "b.txt"]})
    assert many.args == {"path": "a.txt"}


@pytest.mark.parametrize("value", [None, 1, "x", [], [1], {"id": [1]}])
def test_rows_that_make_no_sense_raise_nothing(value: Any) -> None:
    keys = ("timestamp", "content", "tokens", "toolCalls", "startTime", "error", "parameters")
    rows: list[dict[str, Any]] = [{**dict.fromkeys(keys, value), "type": "gemini", "id": value}]
    inner = dict.fromkeys(("name", "args", "result", "timestamp", "resultDisplay"), value)
    parts = [value, {"functionResponse": value}, {"functionResponse": {"response": value}}]
    for result in (value, parts):
        native = {**inner, "name": "run_shell_command", "status": "success", "result": result}
        rows.append({"type": "gemini", "id": "a", "toolCalls": [native, value]})
    for kind in ("result", "error", "tool_use"):
        rows.append({**dict.fromkeys(keys, value), "type": kind, "message": value})
    parse(rows, [rows], stream=rows, exit_code=1)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A file where an installation has its program."""
    folder = tmp_path / "node_modules" / "@google" / "gemini-cli"
    return script(folder / "bundle" / "gemini.js", "echo 0.61.0")


def agent_run(tmp_path: Path, prompt: str = "Größe?", **scenario: Any) -> AgentRun:
    return transcripts.agent_run(tmp_path, "gemini-cli", prompt, **scenario)


def gemini(program: Path, **options: Any) -> GeminiCli:
    return GeminiCli(profile("gemini-cli", path=str(program), **options))


def session(runtime: GeminiCli, run: AgentRun) -> str:
    (found,) = [arg for arg in runtime.command(run).argv if arg.startswith("--session-id=")]
    return str(uuid.UUID(found.removeprefix("--session-id=")))


def settings(run: AgentRun) -> dict[str, Any]:
    data = json.loads((run.state / "gemini" / ".gemini" / "settings.json").read_text())
    return dict(data)


def test_the_command_has_private_state_and_no_prompt_among_its_arguments(
    tmp_path: Path, program: Path
) -> None:
    run = agent_run(tmp_path)
    runtime = gemini(program, args=["--debug"], env={"EXTRA": "1", "GEMINI_CLI_NO_RELAUNCH": ""})
    runtime.prepare(run)
    command = runtime.command(run)
    assert Path(command.argv[0]).name == "node"
    assert command.argv[1:] == (
        *(str(program), "--model=toy", "--approval-mode=yolo", "--output-format=stream-json"),
        *(f"--session-id={session(runtime, run)}", "--debug"),
    )
    assert command.stdin == "Größe?".encode()
    assert tmp_path / "node_modules" in command.view.readable
    assert command.env == {
        "GEMINI_CLI_HOME": str(run.state / "gemini"),
        "GEMINI_API_KEY": "t0ken",
        "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:8080",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_CLI_NO_RELAUNCH": "",
        "EXTRA": "1",
    }
    assert settings(run)["tools"] == {"exclude": ["google_web_search", "web_fetch"]}


def test_a_scenario_that_requires_the_network_may_search_it(tmp_path: Path, program: Path) -> None:
    run = agent_run(tmp_path, requires=("network",))
    gemini(program).prepare(run)
    assert settings(run)["tools"] == {"exclude": []}


def test_no_prompt_is_a_command_to_the_program(tmp_path: Path, program: Path) -> None:
    command = gemini(program).command(agent_run(tmp_path, "/etc/x is wrong"))
    assert command.stdin == b"\n/etc/x is wrong"


def put(run: AgentRun, name: str, place: str, own: str) -> None:
    path = run.state / "gemini" / ".gemini" / "tmp" / "ws" / "chats" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(DATA / f"{name}.jsonl", path)
    lines = path.read_text("utf-8").splitlines()
    lines[0] = json.dumps({**json.loads(lines[0]), "sessionId": own})
    path.write_text("\n".join(lines) + "\n", "utf-8")


def test_the_transcript_is_that_of_the_session_and_its_agents(
    tmp_path: Path, program: Path
) -> None:
    run, runtime = agent_run(tmp_path), gemini(program)
    own = session(runtime, run)
    put(run, "agents", f"session-2026-11-30T18-07-{own[:8]}.jsonl", own)
    put(run, "agents-worker", f"{own}/{uuid.uuid4()}.jsonl", "worker")
    put(run, "tools", f"session-2026-11-30T18-08-{own[:8]}.jsonl", str(uuid.uuid4()))
    stdout = (DATA / "agents.stream.jsonl").read_bytes()
    execution = runtime.collect(run, Completed(exit_code=0, stdout=stdout))
    assert (execution.status, execution.message) == (Status.COMPLETED, "")
    assert execution.trace.events[0].text == "Größe?"
    assert [call.native_name for call in execution.trace.calls] == [
        "invoke_agent",
        "run_shell_command",
        "complete_task",
    ]
    assert execution.usage.requests == 4


def test_the_last_turn_that_a_profile_allows_is_an_end(tmp_path: Path, program: Path) -> None:
    result = {"type": "result", "status": "error", "error": {"message": "Reached max turns"}}
    done = Completed(exit_code=53, stdout=json.dumps(result).encode() + b"\n")
    execution = gemini(program).collect(agent_run(tmp_path), done)
    assert (execution.status, execution.message) == (Status.COMPLETED, "")
    assert execution.flags == (Flag.MAX_TURNS,)


def test_probe_says_version_and_capabilities(program: Path) -> None:
    info = gemini(program).probe()
    assert (info.version, info.endpoint) == ("0.61.0", True)
    assert info.capabilities == ("agents", "network", "skills")
