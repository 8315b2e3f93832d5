"""The adapter of opencode and its database, which the real runtime wrote."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Completed, Usage
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.ending import ended
from pytest_agentbench.runtimes.opencode import OpenCode
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import EventKind, Trace
from pytest_agentbench.trace.opencode import SURFACE, parse
from pytest_agentbench.trace.opencode_store import Store, read_store
from pytest_agentbench.trace.transcript import Transcript
from pytest_agentbench.trial import AgentRun
from tests import transcripts
from tests.transcripts import calls, profile, script

DATA = transcripts.DATA / "opencode"
WS = "/home/agent/ws"


def database(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as base:
        base.executescript((DATA / f"{name}.sql").read_text("utf-8"))
        base.commit()
    return path


def read(tmp_path: Path, name: str) -> Transcript:
    main, *others = read_store(database(tmp_path / "x.db", name)).sessions
    return parse(main.messages, [each.messages for each in others])


def test_native_calls_are_canonical_calls(tmp_path: Path) -> None:
    assert calls(read(tmp_path, "tools")) == [
        ("read", {"path": f"{WS}/notes.txt"}),
        ("exec", {"command": "ls -1"}),
        ("search", {"query": "**/*.txt"}),
        ("exec", {"command": "cat missing.txt"}),
        ("read", {"path": f"{WS}/none.txt"}),
        ("other", {}),
        ("exec", {}),
        ("write", {"path": f"{WS}/grüße.txt", "content": "größer – 東京\n"}),
        ("edit", {"path": f"{WS}/grüße.txt", "old": "größer", "new": "größte"}),
        ("search", {"query": "東京"}),
        ("browse", {"url": "http://127.0.0.1:9/x"}),
        ("skill", {"skill": "nothing"}),
        ("other", {}),
        ("edit", {"path": f"{WS}/notes.txt", "old": "nicht da", "new": "x"}),
    ]


def test_results_say_what_failed_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    found = Trace(events=read(tmp_path, "tools").events)
    assert [(r.call_id, r.native_name, r.status) for r in found.results] == [
        # There is no ripgrep, and none to be had.
        ("call0x2", "glob", 500),
        ("call0x0", "read", 200),
        ("call0x1", "bash", 200),
        ("call1x2", "no_such_tool", 500),
        ("call1x3", "bash", 500),
        ("call1x1", "read", 500),
        ("call1x0", "bash", 500),
        ("call2x0", "write", 200),
        ("call3x3", "skill", 500),
        ("call3x2", "webfetch", 500),
        ("call3x1", "grep", 500),
        ("call3x0", "edit", 200),
        ("call4x0", "todowrite", 200),
        ("call4x1", "edit", 500),
    ]
    assert found.results[6].text == "cat: missing.txt: No such file or directory\n"
    assert found.response == "I look around.\nDone: größer."


def test_parallel_calls_come_before_their_results_and_times_count_from_the_start(
    tmp_path: Path,
) -> None:
    events = read(tmp_path, "tools").events
    kinds = [event.kind for event in events[:5]]
    assert kinds == [EventKind.ASSISTANT, *[EventKind.CALL] * 3, EventKind.RESULT]
    assert 0 < (events[0].time or 0) < (events[-1].time or 0) < 60
    assert Trace(events=events).steps == 6
    assert events[2].native == {"command": "ls -1", "description": "List"}
    assert events[5].native["status"] == "completed"


def test_what_was_reasoned_is_output_and_what_was_cached_is_no_input(tmp_path: Path) -> None:
    assert read(tmp_path, "tools").usage == Usage(
        input_tokens=17488,
        output_tokens=191,
        cache_read_tokens=0,
        cache_write_tokens=0,
        reasoning_tokens=0,
        requests=6,
    )
    tokens = {"input": 1, "output": 20, "reasoning": 300, "cache": {"read": 4000, "write": 50000}}
    rows = [{"role": "assistant", "finish": "stop", "tokens": tokens}]
    assert parse(rows).usage == Usage(
        input_tokens=1,
        output_tokens=320,
        cache_read_tokens=4000,
        cache_write_tokens=50000,
        reasoning_tokens=300,
        requests=1,
    )


def test_what_its_agents_do_is_in_the_trace_but_not_what_they_say(tmp_path: Path) -> None:
    both = read(tmp_path, "agents")
    trace = Trace(events=both.events)
    task = {"description": "Write it", "prompt": "Write sub.txt.", "subagent_type": "general"}
    assert [(call.tool, dict(call.args)) for call in trace.calls] == [
        ("delegate", task),
        ("exec", {"command": "printf sub > sub.txt"}),
    ]
    assert trace.response == "Done."
    assert both.usage.requests == 4


@pytest.mark.parametrize(
    ("name", "exit_code", "status", "message"),
    [
        ("tools", 0, Status.COMPLETED, ""),
        ("tools", 137, Status.AGENT_ERROR, "it ended after it was done, with exit code 137: no"),
        ("ending-429", 1, Status.PROVIDER_ERROR, "the model answered 429: told to answer 429"),
        ("ending-401", 1, Status.AUTH_ERROR, "the model answered 401: told to answer 401"),
        ("ending-404", 1, Status.AGENT_ERROR, "the model answered 404: told to answer 404"),
        (
            "ending-context",
            1,
            Status.CONTEXT_EXHAUSTED,
            ("This model has a maximum context length of 8192 tokens, however you requested 9000."),
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
    tmp_path: Path, name: str, exit_code: int, status: Status, message: str
) -> None:
    done = Completed(exit_code=exit_code, stderr=b"no\n")
    assert ended(read(tmp_path, name).ending, done) == (status, message)


@pytest.mark.parametrize(
    ("finish", "status"),
    [
        ("stop", Status.COMPLETED),
        ("content-filter", Status.REFUSAL),
        ("length", Status.AGENT_ERROR),
        ("tool-calls", None),
    ],
)
def test_an_answer_without_error_ends_by_its_reason(finish: str, status: Status | None) -> None:
    ending = parse([{"role": "assistant", "finish": finish}]).ending
    assert (ending and ending.status) == status


def test_a_call_that_was_under_way_has_no_result(tmp_path: Path) -> None:
    found = read(tmp_path, "ending-killed")
    assert [event.kind for event in found.events] == [EventKind.ASSISTANT, EventKind.CALL]
    assert found.usage == Usage()


def test_patches_and_several_edits_at_once() -> None:
    patch = "*** Begin Patch\n*** Add File: a.txt\n+ü\n*** End Patch"
    parts = [{"type": "tool", "tool": "apply_patch", "state": {"input": {"patchText": patch}}}]
    (call,) = parse([{"role": "assistant", "parts": parts}]).events
    assert (call.tool, dict(call.args)) == ("write", {"path": "a.txt", "content": "ü\n"})
    edits = [{"oldString": "a", "newString": "b"}, {"oldString": "c", "newString": "d"}]
    several = SURFACE.call("multiedit", {"filePath": "f", "edits": edits})
    assert several.args == {"path": "f", "old": "a", "new": "b"}


@pytest.mark.parametrize("value", [None, 1, "x", [], [1], {"id": [1]}])
def test_rows_that_make_no_sense_raise_nothing(value: Any) -> None:
    keys = ("time", "tokens", "finish", "error", "parts", "role")
    rows: list[dict[str, Any]] = [dict.fromkeys(keys, value)]
    for kind in ("text", "tool", value):
        part = dict.fromkeys(("text", "tool", "callID", "state", "time"), value) | {"type": kind}
        state = dict.fromkeys(("input", "time", "metadata", "output", "error"), value)
        done = {**part, "state": {**state, "status": "completed"}}
        rows.append({"role": "assistant", "parts": [part, done, value], "error": {"data": value}})
    parse(rows, [rows])


def test_a_database_is_read_as_far_as_it_makes_sense(tmp_path: Path) -> None:
    assert read_store(tmp_path / "none.db") == Store()
    (tmp_path / "text.db").write_text("no database, but long enough to look for one in it" * 30)
    assert read_store(tmp_path / "text.db") == Store(flags=(Flag.TRACE_LINES_UNREADABLE,))
    os.mkfifo(tmp_path / "pipe.db")
    assert read_store(tmp_path / "pipe.db") == Store()
    (tmp_path / "link.db").symlink_to(database(tmp_path / "real.db", "tools"))
    assert read_store(tmp_path / "link.db") == Store()
    with closing(sqlite3.connect(tmp_path / "real.db")) as base:
        half = '{"type": "text", "text": "\\ud83d"}'
        for number, data in enumerate((b"\xff", "[1]", 7, None, "{", half)):
            base.execute("INSERT INTO part VALUES (?, 'm', 's', 1, ?)", (f"z{number}", data))
        base.execute("UPDATE message SET data = '{' WHERE id = (SELECT max(id) FROM message)")
        base.commit()
    store = read_store(tmp_path / "real.db")
    assert store.flags == (Flag.TRACE_LINES_UNREADABLE,)
    assert len(store.sessions[0].messages) == 6
    database_of_views = tmp_path / "views.db"
    with closing(sqlite3.connect(database_of_views)) as base:
        base.executescript("CREATE TABLE session (id, parent_id, title, time_created);")
    assert read_store(database_of_views).flags == (Flag.TRACE_LINES_UNREADABLE,)


def test_what_a_killed_runtime_had_not_yet_put_into_the_database_is_read(tmp_path: Path) -> None:
    path = database(tmp_path / "x.db", "tools")
    with closing(sqlite3.connect(path)) as base:
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("UPDATE session SET title = 'late'")
        base.commit()
        assert (tmp_path / "x.db-wal").stat().st_size > 0
        assert read_store(path).sessions[0].title == "late"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A file where an installation has its program."""
    return script(tmp_path / "node_modules" / "opencode-ai" / "bin" / "opencode", "echo 1.18.33")


def agent_run(tmp_path: Path) -> AgentRun:
    return transcripts.agent_run(tmp_path, "opencode", "Größe?\n-v", model="vendor/toy")


def opencode(program: Path, **options: Any) -> OpenCode:
    return OpenCode(profile("opencode", path=str(program), **options))


def test_the_command_has_private_state_and_no_prompt_among_its_arguments(
    tmp_path: Path, program: Path
) -> None:
    run = agent_run(tmp_path)
    runtime = opencode(program, args=["--agent=plan"], env={"EXTRA": "1"})
    runtime.prepare(run)
    command = runtime.command(run)
    assert command.argv == (
        *(str(program), "run", "--format=json", "--auto", f"--title={run.id}"),
        "--agent=plan",
    )
    assert command.stdin == "Größe?\n-v".encode()
    assert tmp_path / "node_modules" in command.view.readable
    assert command.env["XDG_DATA_HOME"] == str(run.state / "opencode" / "data")
    assert command.env["EXTRA"] == "1"
    config = json.loads(Path(command.env["OPENCODE_CONFIG"]).read_text())
    provider = config["provider"]["agentbench"]
    assert config["model"] == config["small_model"] == "agentbench/vendor/toy"
    assert list(provider["models"]) == ["vendor/toy"]
    assert provider["options"]["baseURL"] == "http://127.0.0.1:8080/v1"
    assert provider["options"]["apiKey"] == "t0ken"
    assert provider["options"]["headerTimeout"] > 90_000


def test_the_transcript_is_that_of_the_session_with_our_title(
    tmp_path: Path, program: Path
) -> None:
    run, runtime = agent_run(tmp_path), opencode(program)
    place = run.state / "opencode" / "data" / "opencode" / "opencode.db"
    with closing(sqlite3.connect(database(place, "agents"))) as base:
        base.execute("INSERT INTO session VALUES ('ses_a', NULL, 'another', '1', 1)")
        base.commit()
    execution = runtime.collect(run, Completed(exit_code=0))
    assert (execution.status, execution.message) == (Status.COMPLETED, "")
    assert execution.trace.events[0].text == "Größe?\n-v"
    assert [call.native_name for call in execution.trace.calls] == ["task", "bash"]
    assert execution.usage.requests == 4


def test_probe_says_version_and_capabilities(program: Path) -> None:
    info = opencode(program).probe()
    assert opencode(program).max_concurrent >= 1
    assert (info.version, info.endpoint) == ("1.18.33", True)
    assert info.capabilities == ("agents", "network", "skills")
