"""The adapter of Claude Code and its transcripts, which the real runtime wrote."""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Completed, Usage
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.claude_code import ClaudeCode
from pytest_agentbench.runtimes.ending import ended
from pytest_agentbench.status import Status
from pytest_agentbench.trace.claude_code import SURFACE, parse
from pytest_agentbench.trace.events import EventKind, Trace
from pytest_agentbench.trace.transcript import Transcript, read_rows
from pytest_agentbench.trial import AgentRun
from tests import transcripts
from tests.transcripts import calls, profile, script

DATA = transcripts.DATA / "claude-code"
WS = "/home/agent/ws"


def read(name: str, *workers: str) -> Transcript:
    rows, *others = (read_rows(DATA / f"{each}.jsonl").rows for each in (name, *workers))
    return parse(rows, others)


def test_native_calls_are_canonical_calls() -> None:
    assert calls(read("tools")) == [
        ("read", {"path": f"{WS}/notes.txt"}),
        ("exec", {"command": "ls -1"}),
        ("exec", {"command": "cat missing.txt"}),
        ("write", {"path": f"{WS}/grüße.txt", "content": "größer – 東京\n"}),
        ("read", {"path": f"{WS}/none.txt"}),
        ("other", {}),
        ("exec", {}),
        ("edit", {"path": f"{WS}/grüße.txt", "old": "größer", "new": "größte"}),
        ("skill", {"skill": "nothing"}),
        ("other", {}),
        ("browse", {"url": "http://127.0.0.1:9/x"}),
    ]


def test_results_say_what_failed() -> None:
    found = Trace(events=read("tools").events)
    assert [(r.call_id, r.native_name, r.status) for r in found.results] == [
        ("toolu_0_0", "Read", 200),
        ("toolu_0_1", "Bash", 200),
        ("toolu_1_0", "Bash", 500),
        ("toolu_2_0", "Write", 200),
        ("toolu_2_2", "NoSuchTool", 500),
        ("toolu_2_1", "Read", 500),
        ("toolu_2_3", "Bash", 500),
        ("toolu_3_0", "Edit", 200),
        ("toolu_3_1", "Skill", 500),
        ("toolu_4_0", "ToolSearch", 200),
        ("toolu_5_0", "WebFetch", 500),
    ]
    assert found.results[2].text == "Exit code 1\ncat: missing.txt: No such file or directory"
    assert found.results[9].text == "[tool_reference]\n[tool_reference]"
    assert found.response == "I look around.\nDone: größer."


def test_parallel_calls_come_before_their_results_and_times_count_from_the_start() -> None:
    events = read("tools").events
    kinds = [event.kind for event in events[:5]]
    assert kinds == [EventKind.ASSISTANT, *[EventKind.CALL] * 2, *[EventKind.RESULT] * 2]
    times = [event.time or 0.0 for event in events]
    assert 0 < times[0] < times[-1] < 60
    assert Trace(events=events).steps == 7


def test_the_native_payload_is_kept() -> None:
    events = read("tools").events
    assert events[2].native == {"command": "ls -1", "description": "List"}
    assert events[4].native["type"] == "tool_result"


def test_usage_counts_each_answer_once_although_each_of_its_blocks_has_it() -> None:
    assert read("tools").usage == Usage(
        input_tokens=7021,
        output_tokens=161,
        cache_read_tokens=147,
        cache_write_tokens=105,
        reasoning_tokens=0,
        requests=7,
    )


def test_what_its_agents_do_is_in_the_trace_but_not_what_they_say() -> None:
    alone, both = read("agents"), read("agents", "agents-worker")
    done = ("exec", {"command": "printf sub > sub.txt"})
    assert calls(alone) == [("delegate", {"prompt": "Write sub.txt."})]
    assert calls(both) == [*calls(alone), done]
    assert Trace(events=both.events).response == "It works.\nDone."
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
            "the model answered 429: API Error: Request rejected (429) · Rate limit reached",
        ),
        (
            "ending-500",
            1,
            Status.PROVIDER_ERROR,
            (
                "the model answered 500: API Error: 500 the server is broken. This is a "
                "server-side issue, usually temporary — try again in a moment. If it persists, check "
                "your inference gateway (127.0.0.1:8080)."
            ),
        ),
        (
            "ending-401",
            1,
            Status.AUTH_ERROR,
            "the model answered 401: Failed to authenticate. API Error: 401 the key is wrong",
        ),
        (
            "ending-404",
            1,
            Status.AGENT_ERROR,
            (
                "the model answered 404: There's an issue with the selected model (stub-model). "
                "It may not exist or you may not have access to it. Run --model to pick a "
                "different model."
            ),
        ),
        (
            "ending-cut",
            1,
            Status.PROVIDER_ERROR,
            "API Error: Connection lost mid-response. The response above may be incomplete.",
        ),
        (
            "ending-refused",
            1,
            Status.PROVIDER_ERROR,
            (
                "API Error: Connection refused — a firewall or proxy may be blocking it "
                "(ECONNREFUSED)"
            ),
        ),
        (
            "ending-context",
            1,
            Status.CONTEXT_EXHAUSTED,
            (
                "Prompt is too long · the request is ~210000 tokens (limit 200000) but this "
                "conversation is only ~2474 tokens — the rest is system prompt, tool definitions, and …"
            ),
        ),
        (
            "ending-window",
            1,
            Status.CONTEXT_EXHAUSTED,
            "API Error: The model has reached its context window limit.",
        ),
        (
            "ending-refusal",
            1,
            Status.REFUSAL,
            (
                "API Error: stub-model can't help with this. Start a new session to continue.\n\n"
                "Learn more: https://example.org/legal/aup\n\nMessage ID: msg_crrefusal_1"
            ),
        ),
        (
            "ending-length",
            1,
            Status.AGENT_ERROR,
            (
                "API Error: Claude's response exceeded the 128000 output token maximum. To "
                "configure this behavior, set the CLAUDE_CODE_MAX_OUTPUT_TOKENS environment "
                "variable."
            ),
        ),
        (
            "ending-killed",
            143,
            Status.AGENT_ERROR,
            "it ended before it was done, with exit code 143: no",
        ),
    ],
)
def test_the_end_is_told_by_the_transcript(
    name: str, exit_code: int, status: Status, message: str
) -> None:
    done = Completed(exit_code=exit_code, stderr=b"no\n")
    assert ended(read(name).ending, done) == (status, message)


def test_what_the_runtime_says_of_a_failed_call_is_not_what_the_agent_said() -> None:
    assert Trace(events=read("ending-500").events).response == ""
    assert read("ending-500").usage == Usage()


def test_several_edits_at_once_have_the_first_ones_texts() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    call = SURFACE.call("MultiEdit", {"file_path": "f", "edits": edits})
    assert call.args == {"path": "f", "old": "a", "new": "b"}
    assert SURFACE.call("MultiEdit", {"file_path": "f", "edits": [1]}).args == {"path": "f"}


@pytest.mark.parametrize("value", [None, 1, "x", [], [1], {"id": [1]}])
def test_rows_that_make_no_sense_raise_nothing(value: Any) -> None:
    rows: list[dict[str, Any]] = []
    for kind in ("user", "assistant", value):
        rows.append({"type": kind, "message": value, "timestamp": value})
        for block in ("text", "tool_use", "tool_result", value):
            keys = ("text", "input", "id", "name", "tool_use_id", "content", "is_error")
            part = dict.fromkeys(keys, value) | {"type": block}
            message = {"content": [part], "usage": value, "id": value, "stop_reason": value}
            rows.append({"type": kind, "message": message})
    failure = dict.fromkeys(("apiErrorParams", "apiErrorStatus", "apiError", "error"), value)
    parse(rows, [rows])
    parse([*rows, {"type": "assistant", "isApiErrorMessage": True, **failure}])


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A file where an installation has its program."""
    folder = tmp_path / "node_modules" / "@anthropic-ai" / "claude-code"
    return script(folder / "bin" / "claude", "echo 2.1.332")


def agent_run(tmp_path: Path, prompt: str = "Größe?", **more: Any) -> AgentRun:
    return transcripts.agent_run(tmp_path, "claude-code", prompt, **more)


def claude(program: Path, **options: Any) -> ClaudeCode:
    return ClaudeCode(profile("claude-code", path=str(program), **options))


def session(runtime: ClaudeCode, run: AgentRun) -> str:
    (found,) = [arg for arg in runtime.command(run).argv if arg.startswith("--session-id=")]
    return found.removeprefix("--session-id=")


def test_the_command_has_private_state_and_no_prompt_among_its_arguments(
    tmp_path: Path, program: Path
) -> None:
    run = agent_run(tmp_path)
    runtime = claude(program, args=["--effort", "low"], env={"EXTRA": "1", "API_TIMEOUT_MS": "5"})
    runtime.prepare(run)
    command = runtime.command(run)
    assert command.argv == (
        *(str(program), "-p", "--output-format=json", f"--session-id={session(runtime, run)}"),
        *("--permission-mode=bypassPermissions", "--model=toy", "--disallowedTools=WebSearch"),
        *("--effort", "low"),
    )
    assert command.stdin == "Größe?".encode()
    assert tmp_path / "node_modules" in command.view.readable
    env = dict(command.env)
    assert env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8080"
    assert env["ANTHROPIC_API_KEY"] == "t0ken"
    assert env["CLAUDE_CONFIG_DIR"] == str(run.state / "claude")
    assert env["ANTHROPIC_DEFAULT_HAIKU_MODEL"] == "toy"
    assert (env["EXTRA"], env["API_TIMEOUT_MS"]) == ("1", "5")
    assert int(claude(program).command(run).env["API_TIMEOUT_MS"]) > 90_000


def test_each_run_has_a_session_of_its_own(tmp_path: Path, program: Path) -> None:
    runtime = claude(program)
    one = session(runtime, agent_run(tmp_path))
    assert one == session(runtime, agent_run(tmp_path))
    assert str(uuid.UUID(one)) == one
    assert one != session(runtime, agent_run(tmp_path, run_id="0123-baseline-2"))


@pytest.mark.parametrize(
    ("prompt", "said"), [("/etc/x is wrong", "\n/etc/x is wrong"), (" /a", "\n /a"), ("-v", "-v")]
)
def test_no_prompt_is_a_command_to_the_program(
    tmp_path: Path, program: Path, prompt: str, said: str
) -> None:
    command = claude(program).command(agent_run(tmp_path, prompt))
    assert command.stdin == said.encode()


def test_a_scenario_that_requires_the_network_may_search_it(tmp_path: Path, program: Path) -> None:
    command = claude(program).command(agent_run(tmp_path, requires=("network",)))
    assert "--disallowedTools=WebSearch" not in command.argv


def put(run: AgentRun, name: str, place: str) -> None:
    path = run.state / "claude" / "projects" / "-ws" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(DATA / f"{name}.jsonl", path)


def test_the_transcript_is_that_of_the_session_and_its_agents(
    tmp_path: Path, program: Path
) -> None:
    run = agent_run(tmp_path)
    runtime = claude(program)
    own = session(runtime, run)
    put(run, "agents", f"{own}.jsonl")
    put(run, "agents-worker", f"{own}/subagents/agent-1.jsonl")
    put(run, "tools", f"{uuid.uuid4()}.jsonl")
    execution = runtime.collect(run, Completed(exit_code=0))
    assert (execution.status, execution.message) == (Status.COMPLETED, "")
    assert execution.trace.events[0].text == "Größe?"
    assert [call.native_name for call in execution.trace.calls] == ["Agent", "Bash"]
    assert execution.usage.requests == 5


def test_a_run_that_was_killed_has_what_it_did_until_then(tmp_path: Path, program: Path) -> None:
    run = agent_run(tmp_path)
    runtime = claude(program)
    put(run, "ending-killed", f"{session(runtime, run)}.jsonl")
    execution = runtime.collect(run, Completed(exit_code=143, stderr=b"killed"))
    assert execution.status is Status.AGENT_ERROR
    assert execution.message == "it ended before it was done, with exit code 143: killed"
    assert execution.trace.response == "I start."
    assert execution.usage.requests == 1


def test_the_last_turn_that_a_profile_allows_is_an_end(tmp_path: Path, program: Path) -> None:
    run = agent_run(tmp_path)
    runtime = claude(program, args=["--max-turns=1"])
    put(run, "ending-killed", f"{session(runtime, run)}.jsonl")
    stdout = json.dumps({"type": "result", "subtype": "error_max_turns"}).encode()
    execution = runtime.collect(run, Completed(exit_code=1, stdout=stdout))
    assert execution.status is Status.COMPLETED
    assert execution.flags == (Flag.MAX_TURNS,)


def test_a_program_behind_links_is_started_where_it_lies(tmp_path: Path, program: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path / "node_modules")
    linked = tmp_path / "linked" / program.relative_to(tmp_path / "node_modules")
    command = claude(linked).command(agent_run(tmp_path))
    assert command.argv[0] == str(program)
    assert tmp_path / "node_modules" in command.view.readable
    assert not [path for path in command.view.readable if "linked" in path.parts]


def test_probe_says_version_and_capabilities(program: Path) -> None:
    info = claude(program).probe()
    assert (info.version, info.endpoint) == ("2.1.332", True)
    assert info.capabilities == ("agents", "network", "skills")
