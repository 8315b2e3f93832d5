"""The adapter of NanoClaw's agent-runner and its transcripts, which the real runtime wrote."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Completed, Usage
from pytest_agentbench.gateway.toolbox import folder_in
from pytest_agentbench.runtimes import nanoclaw_host
from pytest_agentbench.runtimes.ending import ended
from pytest_agentbench.runtimes.nanoclaw import NanoClaw
from pytest_agentbench.runtimes.nanoclaw_host import settled
from pytest_agentbench.runtimes.protocol import RuntimeUnavailable
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Trace
from pytest_agentbench.trace.nanoclaw import SURFACE, parse
from pytest_agentbench.trace.transcript import Transcript, read_rows
from pytest_agentbench.trial import AgentRun, ProfileError
from tests import transcripts
from tests.transcripts import calls, profile, script

DATA = transcripts.DATA / "nanoclaw"
WS = "/home/agent/ws"
SESSION = b"[agent-runner] Starting\n[poll-loop] Session: 0abc-1\n"


def read(name: str) -> Transcript:
    return parse(read_rows(DATA / f"{name}.jsonl").rows)


def test_native_calls_are_canonical_calls() -> None:
    trace = Trace(events=read("tools").events)
    assert calls(read("tools")) == [
        ("exec", {"command": "cat notes.txt"}),
        ("read", {"path": f"{WS}/missing.txt"}),
        ("write", {"path": f"{WS}/grüße.txt", "content": "größer – 東京\n"}),
        ("message", {"text": "größer!", "to": "user"}),
        ("message", {"text": "x", "to": "nobody"}),
        ("schedule", {"prompt": "Water the plants"}),
        ("schedule", {}),
    ]
    assert trace.calls[3].native_name == "mcp__nanoclaw__send_message"
    assert [(r.tool, r.status) for r in trace.results] == [
        ("read", 500),
        ("exec", 200),
        ("write", 200),
        ("message", 200),
        ("message", 500),
        ("schedule", 200),
        ("schedule", 200),
    ]


def test_an_answer_is_what_is_addressed_or_might_have_been() -> None:
    assert Trace(events=read("tools").events).response == (
        "I look around.\ngrößer!\nx\nDone, unaddressed.\nDone: größer."
    )


def test_usage_counts_each_answer_once() -> None:
    assert read("tools").usage == Usage(
        input_tokens=510,
        output_tokens=60,
        cache_read_tokens=200,
        cache_write_tokens=25,
        requests=5,
    )


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("tools", Status.COMPLETED, ""),
        ("ending-429", Status.PROVIDER_ERROR, "the model answered 429: "),
        ("ending-401", Status.AUTH_ERROR, "the model answered 401: "),
        ("ending-context", Status.CONTEXT_EXHAUSTED, "Prompt is too long"),
        ("ending-refusal", Status.REFUSAL, "API Error: Claude Code is unable to respond"),
    ],
)
def test_the_end_is_told_by_the_transcript(name: str, status: Status, message: str) -> None:
    found, said = ended(read(name).ending, Completed(exit_code=0))
    assert found is status
    assert said.startswith(message)


def test_the_surface_has_the_tools_of_claude_code_too() -> None:
    assert {"Bash", "mcp__nanoclaw__send_message"} <= set(SURFACE.tools)


def test_the_end_of_a_tag_is_no_folder() -> None:
    prompt = (
        "behind the work in this working directory.</description>\nPrimary working directory: /a/b"
    )
    assert folder_in(prompt) == "/a/b"


# Lines of a real runner.
RESULT = "[poll-loop] Result: Done: größer.\n"
WARNING = '[poll-loop] WARNING: agent output had no <message to="..."> blocks — nothing was sent\n'


@pytest.mark.parametrize(
    ("lines", "status", "done"),
    [
        ([], "", False),
        ([], "processing", False),
        ([RESULT], "processing", False),
        # It says that before it acts on it.
        ([], "completed", False),
        ([RESULT], "completed", True),
        # Another answer is asked for, once.
        ([RESULT, WARNING], "completed", False),
        ([RESULT, WARNING, RESULT], "completed", True),
        ([RESULT, WARNING, RESULT, WARNING], "completed", True),
        # It failed, or the message was a command.
        (
            ["[poll-loop] Query error: no\n", "[poll-loop] Completed 1 message(s)\n"],
            "completed",
            True,
        ),
        (["[poll-loop] All 1 message(s) were commands, skipping query\n"], "completed", True),
    ],
)
def test_the_runner_is_stopped_once_it_is_through(
    lines: list[str], status: str, done: bool
) -> None:
    assert settled(lines, status) is done


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files of a checkout that count, with a runner of our own."""
    root = tmp_path / "nanoclaw"
    runner = root / "container" / "agent-runner"
    files = {
        "package.json": '{"name": "nanoclaw", "version": "2.0.64"}',
        "container/CLAUDE.md": "Files are in `/workspace/agent/`.",
        "container/agent-runner/package.json": "{}",
        "container/agent-runner/tsconfig.json": "{}",
        "container/agent-runner/src/index.ts": (
            "const A = '/workspace/agent';\nconst B = '/workspace/agent/container.json';\n"
            "const C = '/workspace/inbound.db'; // see /workspaces\n"
            "const D = '/pnpm/claude';\n"
        ),
        "container/agent-runner/src/index.test.ts": "",
        "container/agent-runner/src/mcp-tools/core.instructions.md": "Send it.",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for name in (".bin/bun", "@anthropic-ai/claude-agent-sdk-linux-x64/claude"):
        script(runner / "node_modules" / name)
    return root


def adapter(checkout: Path, version: str = "", **options: Any) -> NanoClaw:
    return NanoClaw(profile("nanoclaw", version, path=str(checkout), **options))


def agent_run(tmp_path: Path, prompt: str = 'Say "ü" & <b>.') -> AgentRun:
    return transcripts.agent_run(tmp_path, "nanoclaw", prompt)


def message(run: AgentRun) -> tuple[str, dict[str, Any]]:
    with closing(sqlite3.connect(run.state / "session" / "inbound.db")) as database:
        ((kind, content),) = database.execute(
            "SELECT kind, content FROM messages_in WHERE status = 'pending' AND trigger = 1"
        )
    return kind, json.loads(content)


def test_the_runner_is_a_copy_in_which_its_container_lies_in_the_run(
    tmp_path: Path, checkout: Path
) -> None:
    run = agent_run(tmp_path)
    runtime = adapter(checkout, env={"EXTRA": "1"})
    runtime.prepare(run)
    command = runtime.command(run)
    claude = checkout / (
        "container/agent-runner/node_modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude"
    )
    assert (run.state / "runner" / "src" / "index.ts").read_text() == (
        f"const A = '{run.workspace}';\nconst B = '{run.state}/container.json';\n"
        f"const C = '{run.state}/session/inbound.db'; // see /workspaces\n"
        f"const D = '{claude}';\n"
    )
    assert not (run.state / "runner" / "src" / "index.test.ts").exists()
    assert (run.state / "claude" / "CLAUDE.md").read_text() == (
        f"Files are in `{run.workspace}/`.\n\nSend it."
    )
    assert json.loads((run.state / "container.json").read_text()) == {
        "provider": "claude",
        "model": "toy",
    }
    assert command.argv[0] == sys.executable
    assert command.cwd == run.workspace
    assert command.env["ANTHROPIC_API_KEY"] == "t0ken"
    assert command.env["EXTRA"] == "1"
    assert run.state in command.view.writable
    assert checkout / "container" / "agent-runner" / "node_modules" in command.view.readable
    assert message(run) == ("chat", {"text": 'Say "ü" & <b>.', "sender": "User"})
    assert not list(run.workspace.iterdir())


def test_a_prompt_that_looks_like_a_command_is_a_task(tmp_path: Path, checkout: Path) -> None:
    run = agent_run(tmp_path, " /clear all")
    adapter(checkout).prepare(run)
    assert message(run) == ("task", {"prompt": " /clear all"})


#: Does what the runner does with its database and its stderr, and never ends.
RUNNER = """
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1])
def ack(status):
    database.execute("INSERT OR REPLACE INTO processing_ack VALUES ('m', ?, '')", (status,))
    database.commit()
ack("processing")
print("[poll-loop] Result: one", file=sys.stderr, flush=True)
ack("completed")
print("[poll-loop] WARNING: agent output had no <message", file=sys.stderr, flush=True)
print("[poll-loop] Result: two", file=sys.stderr, flush=True)
while True:
    time.sleep(60)
"""


def host(tmp_path: Path, program: str) -> subprocess.CompletedProcess[bytes]:
    database, config = tmp_path / "outbound.db", tmp_path / "host.json"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(
            "CREATE TABLE processing_ack (message_id TEXT PRIMARY KEY, status TEXT, changed TEXT)"
        )
    argv = [sys.executable, "-c", program, str(database)]
    data = {"argv": argv, "bin": str(tmp_path), "outbound": str(database), "message": "m"}
    config.write_text(json.dumps(data))
    return subprocess.run(
        [sys.executable, "-I", "-S", nanoclaw_host.__file__, str(config)],
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_the_host_stops_a_runner_that_would_poll_for_ever(tmp_path: Path) -> None:
    done = host(tmp_path, RUNNER)
    assert done.returncode == 0
    assert done.stderr.decode().splitlines()[-1] == "[poll-loop] Result: two"


def test_a_runner_that_ends_by_itself_has_failed(tmp_path: Path) -> None:
    assert host(tmp_path, "raise SystemExit(7)").returncode == 7
    (tmp_path / "outbound.db").unlink()
    assert host(tmp_path, "pass").returncode == 1


def test_collect_reads_the_session_that_the_runner_named(tmp_path: Path, checkout: Path) -> None:
    run = agent_run(tmp_path)
    folder = run.state / "claude" / "projects" / "-ws"
    folder.mkdir(parents=True)
    shutil.copy(DATA / "tools.jsonl", folder / "0abc-1.jsonl")
    shutil.copy(DATA / "ending-429.jsonl", folder / "another.jsonl")
    execution = adapter(checkout).collect(run, Completed(exit_code=0, stderr=SESSION))
    assert (execution.status, execution.message, execution.flags) == (Status.COMPLETED, "", ())
    assert execution.trace.events[0].text == 'Say "ü" & <b>.'
    assert len(execution.trace.calls) == 7
    execution = adapter(checkout).collect(run, Completed(exit_code=1, stderr=b"Fatal error: no\n"))
    assert execution.status is Status.AGENT_ERROR
    assert execution.message == ("it ended before it was done, with exit code 1: Fatal error: no")


def test_probe_says_version_and_digest_of_the_sources(checkout: Path) -> None:
    info = adapter(checkout, version="2.0.64").probe()
    assert (info.version, info.endpoint, len(info.digest)) == ("2.0.64", True, 64)
    (checkout / "container/agent-runner/src/index.ts").write_text("other")
    assert adapter(checkout).probe().digest != info.digest


def test_what_is_missing_is_said_with_what_to_type(checkout: Path) -> None:
    bun = checkout / "container/agent-runner/node_modules/.bin/bun"
    bun.unlink()
    with pytest.raises(RuntimeUnavailable) as caught:
        adapter(checkout).probe()
    assert str(caught.value) == (
        f"there is no agent-runner of NanoClaw in {checkout}: {bun} is not there. It has no "
        "package: check the repository qwibitai/nanoclaw out there at version 2.0.64, then\n"
        f"    npm install --prefix {checkout}/container/agent-runner --omit=dev --no-save "
        "bun@1.3.12"
    )


def test_another_version_than_the_profile_names_is_not_used(checkout: Path) -> None:
    with pytest.raises(RuntimeUnavailable) as caught:
        adapter(checkout, version="3.0.0").probe()
    assert str(caught.value) == f"{checkout} is version 2.0.64 of NanoClaw, not 3.0.0"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"args": ["x"]}, "unknown option 'args'; allowed: path, env"),
        ({"env": {"A": 1}}, "env must be a table of texts, not {'A': 1}"),
        ({"path": 1}, "path must be a text, the folder of a checkout, not 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ProfileError) as caught:
        NanoClaw(profile("nanoclaw", **options))
    assert str(caught.value) == f"[tool.agentbench.runtimes.mine]: {problem}"
