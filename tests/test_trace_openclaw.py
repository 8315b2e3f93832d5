"""The adapter of OpenClaw, in both its forms, and its transcripts, which the real runtime wrote."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Completed, Usage
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.ending import ended
from pytest_agentbench.runtimes.openclaw import OpenClaw
from pytest_agentbench.runtimes.protocol import RuntimeUnavailable
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import EventKind, Trace
from pytest_agentbench.trace.openclaw import parse
from pytest_agentbench.trace.openclaw_store import Store, read_store
from pytest_agentbench.trace.transcript import Transcript, read_rows
from pytest_agentbench.trial import AgentRun, ProfileError
from tests import transcripts
from tests.transcripts import profile, script

DATA = transcripts.DATA / "openclaw"
#: As the runtime makes it, but for bounds that it checks.
SCHEMA = """
CREATE TABLE transcript_events (
  session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL,
  event_zstd BLOB, event_utf8_bytes INTEGER, navigation_json TEXT,
  PRIMARY KEY (session_id, seq),
  CHECK (navigation_json IS NULL OR json_valid(navigation_json))
) STRICT
"""
ENDLESS = """
CREATE VIEW transcript_events AS
WITH RECURSIVE n(session_id, event_json, event_zstd, event_utf8_bytes, created_at, seq) AS
(SELECT 1, 1, 1, 1, 1, 1 UNION ALL SELECT 1, 1, 1, 1, 1, 1 FROM n) SELECT * FROM n
"""
INSERT = "INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?, ?, NULL)"


def read(name: str) -> Transcript:
    return parse(read_rows(DATA / f"{name}.jsonl").rows)


def calls(name: str) -> list[tuple[str, str, dict[str, Any]]]:
    trace = Trace(events=read(name).events)
    return [(call.native_name, call.tool, dict(call.args)) for call in trace.calls]


def pack(text: str) -> bytes:
    from pytest_agentbench.trace.openclaw_store import _zstd

    packed: bytes = _zstd().compress(text.encode())
    return packed


def fill(base: sqlite3.Connection, session: str, name: str, at: int = 0) -> None:
    """The rows of a file as the runtime puts them in: compressed from one KiB on."""
    lines = (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        size = len(line.encode())
        kept = (None, at, pack(line), size) if size >= 1024 else (line, at, None, size)
        base.execute(INSERT, (session, number, *kept))
    base.commit()


def store(path: Path, **sessions: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    base = sqlite3.connect(path)
    base.execute(SCHEMA)
    for at, (session, name) in enumerate(sessions.items()):
        fill(base, session, name, at)
    base.close()
    return path


def test_native_calls_are_canonical_calls() -> None:
    text = "".join(f"{number} Zeile für die Liste\n" for number in range(60))
    assert calls("tools") == [
        ("read", "read", {"path": "notes.txt"}),
        ("write", "write", {"path": "grüße.txt", "content": "Grüße, 世界 — naïve ☃\n"}),
        ("ls", "search", {"path": "."}),
        ("read", "read", {"path": "missing.txt"}),
        ("edit", "edit", {"path": "notes.txt", "old": "alpha", "new": "ALPHA"}),
        ("exec", "exec", {"command": "cat notes.txt && exit 3"}),
        ("tool_search", "other", {}),
        # Called through another tool, since they are not offered at once.
        ("memory_search", "memory", {"query": "greeting"}),
        ("sessions_list", "other", {}),
        ("automations", "schedule", {"action": "list"}),
        ("apply_patch", "write", {"path": "list.md", "content": "# List\n- one\n"}),
        ("write", "write", {"path": "long.txt", "content": text}),
        ("exec", "exec", {"command": "sleep 0.1; echo done"}),
    ]
    assert calls("old-tools") == [
        *calls("tools")[:2],
        *calls("tools")[3:6],
        ("web_fetch", "browse", {"url": "http://127.0.0.1:9/"}),
        ("agents_list", "delegate", {}),
        ("memory_get", "memory", {"path": "MEMORY.md"}),
        *calls("tools")[11:],
    ]


def test_results_say_what_failed() -> None:
    found = Trace(events=read("tools").events)
    assert [(r.call_id, r.native_name, r.status) for r in found.results] == [
        ("call_1_1", "read", 200),
        ("call_1_2", "write", 200),
        ("call_1_3", "ls", 200),
        ("call_2_1", "read", 500),
        ("call_3_1", "edit", 200),
        # To the runtime a command that ran is no error, whatever its exit code.
        ("call_3_2", "exec", 500),
        ("call_4_1", "tool_search", 200),
        ("call_4_2", "memory_search", 500),
        ("call_4_3", "sessions_list", 500),
        ("call_4_4", "automations", 500),
        ("call_5_1", "apply_patch", 200),
        ("call_5_2", "write", 200),
        # It still runs.
        ("call_5_3", "exec", None),
    ]
    assert "File not found: /home/agent/ws/missing.txt" in found.results[3].text
    assert found.response == "Ich sehe mich um.\nFertig: grüße.txt geschrieben."


def test_the_older_form_says_what_failed_in_the_details_alone() -> None:
    found = Trace(events=read("old-tools").events)
    assert [r.status for r in found.results] == [200, 200, 500, 200, 500, 500, 200, 200, 200, None]
    assert found.results[2].native["isError"] is False


@pytest.mark.parametrize("name", ["tools", "old-tools"])
def test_parallel_calls_come_before_their_results_and_times_grow(name: str) -> None:
    events = read(name).events
    assert [event.kind for event in events[:3]] == [
        *(EventKind.ASSISTANT, EventKind.CALL, EventKind.CALL)
    ]
    times = [event.time or 0 for event in events]
    assert times == sorted(times)
    assert 0 < times[0] < times[-1] < 60
    assert Trace(events=events).steps == 6


def test_the_native_payload_is_kept() -> None:
    trace = Trace(events=read("tools").events)
    edits = [{"oldText": "alpha", "newText": "ALPHA"}]
    assert trace.calls[4].native == {"path": "notes.txt", "edits": edits}
    assert trace.calls[7].native == {"id": "memory_search", "args": {"query": "greeting"}}
    assert trace.results[0].native["toolName"] == "read"


@pytest.mark.parametrize("name", ["tools", "old-tools"])
def test_usage_is_what_the_model_said_of_each_answer(name: str) -> None:
    assert read(name).usage == Usage(
        input_tokens=6 * 1000 + 1500 - 6 * 7,
        output_tokens=20 + 21 + 22 + 23 + 24 + 25,
        cache_read_tokens=6 * 7,
        cache_write_tokens=0,
        requests=6,
    )


@pytest.mark.parametrize(
    ("name", "exit_code", "status", "message"),
    [
        ("tools", 0, Status.COMPLETED, ""),
        ("tools", 137, Status.AGENT_ERROR, "it ended after it was done, with exit code 137: no"),
        ("ending-429", 1, Status.PROVIDER_ERROR, "the model answered 429: scripted 429"),
        ("ending-500", 1, Status.PROVIDER_ERROR, "the model answered 500: scripted 500"),
        ("ending-401", 1, Status.AUTH_ERROR, "the model answered 401: scripted 401"),
        ("ending-404", 1, Status.AGENT_ERROR, "the model answered 404: scripted 404"),
        (
            "ending-context",
            1,
            Status.CONTEXT_EXHAUSTED,
            "the model answered 400: This model's maximum context length is 1000 tokens.",
        ),
        ("ending-cut", 2, Status.PROVIDER_ERROR, "terminated"),
        ("ending-refused", 2, Status.PROVIDER_ERROR, "Connection error."),
        ("ending-filter", 1, Status.REFUSAL, "Provider finish_reason: content_filter"),
        ("ending-length", 0, Status.COMPLETED, ""),
        (
            "ending-killed",
            -9,
            Status.AGENT_ERROR,
            "it ended before it was done, with exit code -9: no",
        ),
        ("old-tools", 0, Status.COMPLETED, ""),
        ("old-ending-500", 1, Status.PROVIDER_ERROR, "the model answered 500: scripted 500"),
        ("old-ending-401", 1, Status.AUTH_ERROR, "the model answered 401: scripted 401"),
        (
            "old-ending-context",
            1,
            Status.CONTEXT_EXHAUSTED,
            "the model answered 400: This model's maximum context length is 1000 tokens.",
        ),
    ],
)
def test_the_end_is_told_by_the_transcript(
    name: str, exit_code: int, status: Status, message: str
) -> None:
    done = Completed(exit_code=exit_code, stderr=b"no\n")
    assert ended(read(name).ending, done) == (status, message)


@pytest.mark.parametrize("value", [None, 1, "x", [], [1], {"id": [1]}])
def test_entries_that_make_no_sense_raise_nothing(value: Any) -> None:
    keys = ("content", "details", "model", "stopReason", "toolCallId", "usage", "errorMessage")
    rows: list[dict[str, Any]] = [{"type": "message", "message": value, "timestamp": value}]
    for role in ("assistant", "toolResult", "user"):
        rows.append({"type": "message", "message": dict.fromkeys(keys, value) | {"role": role}})
    for name in ("tool_call", "edit", "apply_patch", "exec"):
        part = {"type": "toolCall", "name": name, "arguments": value, "id": value}
        inner = part | {"arguments": {"id": value, "args": value, "edits": value, "input": value}}
        message = {"role": "assistant", "content": [part, inner, value], "stopReason": "error"}
        rows.append({"type": "message", "message": message | {"errorMessage": value}})
    parse(rows, [rows])


def test_a_store_has_entries_as_they_are_and_compressed(tmp_path: Path) -> None:
    path = store(tmp_path / "s.sqlite", one="tools")
    base = sqlite3.connect(path)
    counts = "SELECT count(event_json), count(event_zstd) FROM transcript_events"
    assert min(base.execute(counts).fetchone()) > 3
    base.close()
    found = read_store(path)
    assert found.flags == ()
    assert parse(found.sessions["one"]) == read("tools")


def test_a_killed_runtime_leaves_its_entries_beside_the_store(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    base = sqlite3.connect(path)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("PRAGMA wal_autocheckpoint = 0")
    base.execute(SCHEMA)
    fill(base, "one", "ending-killed")
    left = tmp_path / "left.sqlite"
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{left}{suffix}")
    base.close()
    before = {each.name: each.read_bytes() for each in tmp_path.glob("left*")}
    assert parse(read_store(left).sessions["one"]) == read("ending-killed")
    assert {each.name: each.read_bytes() for each in tmp_path.glob("left*")} == before


def test_entries_that_cannot_be_read_are_flagged_and_the_others_kept(tmp_path: Path) -> None:
    path = store(tmp_path / "s.sqlite", one="old-ending-401")
    base = sqlite3.connect(path)
    bomb = json.dumps("x" * (8 << 20))
    for number, bad in enumerate(
        [
            ("{", None, None),
            ("[]", None, None),
            ("[" * 100_000, None, None),
            (None, b"no zstd", 7),
            (None, pack("{}"), None),
            (None, pack("{}"), -1),
            (None, pack(bomb), len(bomb)),
            (None, pack(bomb), 100),
            (None, None, 4),
        ]
    ):
        plain, packed, size = bad
        base.execute(INSERT, ("one", 100 + number, plain, 0, packed, size))
    base.commit()
    base.close()
    found = read_store(path)
    assert found.flags == (Flag.TRACE_LINES_UNREADABLE,)
    assert parse(found.sessions["one"]) == read("old-ending-401")


def test_halves_of_surrogate_pairs_are_replaced(tmp_path: Path) -> None:
    path = store(tmp_path / "s.sqlite")
    base = sqlite3.connect(path)
    base.execute(INSERT, ("one", 0, '{"text": "\\udc00"}', 0, None, None))
    base.commit()
    base.close()
    assert read_store(path).sessions == {"one": ({"text": "?"},)}


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE other (x)",
        # It would never end.
        ENDLESS,
        "CREATE TABLE transcript_events (session_id, seq)",
    ],
)
def test_a_store_without_the_table_is_flagged(tmp_path: Path, script: str) -> None:
    base = sqlite3.connect(tmp_path / "s.sqlite")
    base.execute(script)
    base.close()
    assert read_store(tmp_path / "s.sqlite") == Store(flags=(Flag.TRACE_LINES_UNREADABLE,))


def test_what_is_no_store_is_not_read(tmp_path: Path) -> None:
    good = store(tmp_path / "good.sqlite", one="tools")
    assert read_store(tmp_path / "none.sqlite") == Store()
    (tmp_path / "link.sqlite").symlink_to(good)
    assert read_store(tmp_path / "link.sqlite") == Store()
    os.mkfifo(tmp_path / "pipe.sqlite")
    assert read_store(tmp_path / "pipe.sqlite") == Store()
    (tmp_path / "text.sqlite").write_bytes(b"no database" * 100)
    assert read_store(tmp_path / "text.sqlite") == Store(flags=(Flag.TRACE_LINES_UNREADABLE,))
    with (tmp_path / "huge.sqlite").open("wb") as file:
        file.truncate((256 << 20) + 1)
    assert read_store(tmp_path / "huge.sqlite") == Store(flags=(Flag.TRACE_CUT,))


def install(tmp_path: Path, version: str) -> Path:
    """What npm makes of the package, without what it does."""
    folder = tmp_path / "lib" / "node_modules" / "openclaw"
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"name": "openclaw", "version": version}))
    return script(folder / "openclaw.mjs")


@pytest.fixture
def node(tmp_path: Path) -> Path:
    return script(tmp_path / "node" / "bin" / "node", "echo v24.16.0")


def agent_run(tmp_path: Path) -> AgentRun:
    return transcripts.agent_run(tmp_path, "openclaw", "--help ü", model="a/model")


def openclaw(program: Path, **options: Any) -> OpenClaw:
    return OpenClaw(profile("openclaw", path=str(program), **options))


def test_the_command_has_private_state_and_no_prompt_among_its_arguments(
    tmp_path: Path, node: Path
) -> None:
    run, program = agent_run(tmp_path), install(tmp_path, "2026.9.6")
    runtime = openclaw(program, node=str(node), args=["--thinking=low"], env={"EXTRA": "1"})
    runtime.prepare(run)
    command = runtime.command(run)
    state = run.state / "openclaw"
    assert command.argv == (
        *(str(node), str(program), "agent", "exec", f"--config={run.state / 'openclaw.json'}"),
        *(f"--state-dir={state}", f"--cwd={run.workspace}"),
        *(f"--message-file={run.state / 'prompt.txt'}", "--timeout=150", "--json"),
        "--thinking=low",
    )
    assert (run.state / "prompt.txt").read_text("utf-8") == "--help ü"
    assert command.env == {
        "OPENCLAW_STATE_DIR": str(state),
        "OPENCLAW_CONFIG_PATH": str(run.state / "openclaw.json"),
        "OPENCLAW_OFFLINE": "1",
        "NODE_DISABLE_COMPILE_CACHE": "1",
        "NO_COLOR": "1",
        "EXTRA": "1",
    }
    assert {tmp_path / "lib" / "node_modules", node.parent} <= set(command.view.readable)
    config = json.loads((run.state / "openclaw.json").read_text())
    (provider,) = config["models"]["providers"].values()
    assert (provider["baseUrl"], provider["apiKey"]) == ("http://127.0.0.1:8080/v1", "t0ken")
    assert [model["id"] for model in provider["models"]] == ["a/model"]
    assert config["agents"]["defaults"]["model"] == {"primary": "agentbench/a/model"}
    settings = json.loads((state / "agents" / "main" / "agent" / "settings.json").read_text())
    assert settings["retry"]["provider"] == {"maxRetries": 1}


def test_the_version_that_is_found_decides_on_the_form(tmp_path: Path, node: Path) -> None:
    run = agent_run(tmp_path)
    runtime = openclaw(install(tmp_path, "2026.5.7"), node=str(node))
    runtime.prepare(run)
    command = runtime.command(run)
    local, agent, session, message, *rest = command.argv[3:]
    assert (local, agent, rest) == ("--local", "--agent=main", ["--timeout=150", "--json"])
    assert message == "--message=--help ü"
    # The transcript is found by the id that the command had.
    folder = run.state / "openclaw" / "agents" / "main" / "sessions"
    folder.mkdir()
    name = session.removeprefix("--session-id=")
    shutil.copy(DATA / "old-tools.jsonl", folder / f"{name}.jsonl")
    (folder / f"{name}.trajectory.jsonl").write_text('{"type": "session.started"}\n')
    shutil.copy(DATA / "old-ending-401.jsonl", folder / "later.jsonl")
    execution = runtime.collect(run, Completed(exit_code=0))
    assert (execution.status, execution.flags) == (Status.COMPLETED, ())
    assert execution.trace.events[0].text == "--help ü"
    assert execution.trace.events[1:] == read("old-tools").events
    assert execution.usage.requests == 7


def test_the_session_is_the_one_that_the_program_says(tmp_path: Path, node: Path) -> None:
    run = agent_run(tmp_path)
    runtime = openclaw(install(tmp_path, "2026.9.6"), node=str(node))
    runtime.prepare(run)
    agent = run.state / "openclaw" / "agents" / "main" / "agent"
    store(agent / "openclaw-agent.sqlite", one="ending-401", two="tools")
    said = json.dumps({"ok": True, "sessionId": "two"}).encode()
    execution = runtime.collect(run, Completed(exit_code=0, stdout=said))
    assert (execution.status, execution.message) == (Status.COMPLETED, "")
    assert execution.trace.response == "Ich sehe mich um.\nFertig: grüße.txt geschrieben."
    assert execution.usage.requests == 7
    # A program that was killed says nothing: then it is the first.
    execution = runtime.collect(run, Completed(exit_code=-9))
    assert execution.status is Status.AUTH_ERROR
    # What other agents did is in the trace, but not what they said.
    assert len(execution.trace.calls) == 13
    assert execution.trace.response == ""


def test_probe_says_version_and_capabilities(tmp_path: Path, node: Path) -> None:
    info = openclaw(install(tmp_path, "2026.9.6"), node=str(node)).probe()
    assert (info.version, info.endpoint) == ("2026.9.6", True)
    assert info.capabilities == ("network", "skills")


def test_no_more_run_at_once_than_have_room(tmp_path: Path) -> None:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    most = openclaw(tmp_path).max_concurrent
    assert 1 <= most <= max(1, memory >> 30)


def test_a_node_that_is_not_there_makes_it_unavailable(tmp_path: Path) -> None:
    program = install(tmp_path, "2026.9.6")
    with pytest.raises(RuntimeUnavailable) as caught:
        openclaw(program, node=str(tmp_path / "none")).probe()
    assert str(caught.value) == f"{tmp_path / 'none'}, the profile's node, is no program"


def test_a_node_that_is_no_path_is_refused() -> None:
    with pytest.raises(ProfileError) as caught:
        OpenClaw(profile("openclaw", node=24))
    assert str(caught.value) == (
        "[tool.agentbench.runtimes.mine]: node must be the path of a Node.js, not 24"
    )
