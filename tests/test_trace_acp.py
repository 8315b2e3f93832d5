"""What four real agents said over the Agent Client Protocol, and what is made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Completed, Usage
from pytest_agentbench.runtimes.ending import ended
from pytest_agentbench.status import Status
from pytest_agentbench.trace.acp import SURFACE, parse, stop_reason
from pytest_agentbench.trace.events import EventKind, Trace
from pytest_agentbench.trace.surfaces import surface
from pytest_agentbench.trace.transcript import read_rows

DATA = Path(__file__).parent / "data" / "transcripts" / "acp"
WS = "/home/agent/ws"


def read(name: str) -> Trace:
    return Trace(events=parse(read_rows(DATA / f"{name}.jsonl").rows).events)


def calls(trace: Trace) -> list[tuple[str, dict[str, Any]]]:
    return [(call.tool, dict(call.args)) for call in trace.calls]


def test_calls_of_opencode() -> None:
    assert calls(read("opencode")) == [
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
        ("other", {"name": "nothing"}),
        ("other", {}),
        ("edit", {"path": f"{WS}/notes.txt", "old": "nicht da", "new": "x"}),
    ]


def test_calls_of_gemini_cli_which_says_no_input() -> None:
    assert calls(read("gemini-cli")) == [
        ("read", {"path": f"{WS}/notes.txt"}),
        ("exec", {"command": "ls -1"}),
        ("search", {"query": "**/*.txt"}),
        ("exec", {"command": "cat missing.txt"}),
        ("read", {"path": f"{WS}/none.txt"}),
        ("exec", {}),
        ("write", {"path": f"{WS}/grüße.txt", "content": "größer – 東京\n"}),
        # The whole file, in place of what the model said.
        ("edit", {"path": f"{WS}/grüße.txt", "old": "größer – 東京\n", "new": "größte – 東京\n"}),
        ("search", {"query": "東京"}),
        ("browse", {"url": "http://127.0.0.1:9/x"}),
        ("other", {}),
        ("search", {"query": "."}),
        ("edit", {"path": f"{WS}/notes.txt"}),
    ]


def test_calls_of_codex_which_calls_a_command_what_it_takes_it_to_do() -> None:
    trace = read("codex")
    assert calls(trace) == [
        ("exec", {"command": "ls -1"}),
        ("exec", {"command": "cat notes.txt"}),
        ("exec", {"command": "cat missing.txt"}),
        ("exec", {"command": "printf 'größer – 東京\\n' > grüße.txt"}),
    ]
    assert [call.native_name for call in trace.calls] == ["search", "read", "read", "execute"]
    assert [(r.status, r.text) for r in trace.results][2:] == [
        (500, "cat: missing.txt: No such file or directory\n"),
        (200, ""),
    ]


def test_calls_of_claude_code_which_uses_files_and_terminals_of_the_client() -> None:
    trace = read("claude-code")
    assert calls(trace) == [
        ("read", {"path": f"{WS}/notes.txt"}),
        ("exec", {"command": "ls -1"}),
        ("exec", {"command": "echo größer; exit 3"}),
        ("read", {"path": f"{WS}/none.txt"}),
        ("write", {"path": f"{WS}/grüße.txt", "content": "größer – 東京\n"}),
        ("edit", {"path": f"{WS}/grüße.txt", "old": "größer", "new": "größte"}),
    ]
    # The protocol calls the second command completed: it is the terminal that tells.
    assert [(r.status, r.text) for r in trace.results if r.tool == "exec"] == [
        (200, "notes.txt\nsub\n"),
        (500, "größer\n"),
    ]
    assert [r.status for r in trace.results if r.tool != "exec"] == [200, 500, 200, 200]


def test_results_say_what_failed() -> None:
    opencode = read("opencode")
    assert [(r.call_id, r.status) for r in opencode.results] == [
        ("call0x2", 500),
        ("call0x1", 200),
        ("call0x0", 200),
        ("call1x2", 200),
        ("call1x3", 500),
        ("call1x1", 500),
        ("call1x0", 500),
        ("call2x0", 200),
        ("call3x3", 500),
        ("call3x2", 500),
        ("call3x1", 500),
        ("call3x0", 200),
        ("call4x0", 200),
        ("call4x1", 500),
    ]
    # It says that a command was completed, and not how it ended.
    unknown = [r.call_id for r in read("gemini-cli").results if r.status is None]
    assert unknown == ["run_shell_command__call0x1", "run_shell_command__call1x0"]


@pytest.mark.parametrize("name", ["opencode", "gemini-cli", "claude-code"])
def test_what_an_agent_says_is_put_together_and_times_grow(name: str) -> None:
    trace = read(name)
    assert trace.response == "I look around.\nDone: größer."
    assert trace.events[0].kind is EventKind.ASSISTANT
    times = [event.time for event in trace.events]
    assert None not in times
    assert times == sorted(time or 0 for time in times)


def test_parallel_calls_and_the_native_payload() -> None:
    events = read("opencode").events
    assert [event.kind for event in events[1:4]] == [EventKind.CALL] * 3
    assert events[2].native["rawInput"]["description"] == "List"
    assert parse(read_rows(DATA / "opencode.jsonl").rows).usage == Usage()


@pytest.mark.parametrize(
    ("name", "exit_code", "status", "message"),
    [
        ("opencode", 0, Status.COMPLETED, ""),
        (
            "ending-429",
            1,
            Status.AGENT_ERROR,
            (
                "Internal error: {'message': 'exceeded retry limit, last status: 429 Too Many "
                "Requests', 'codex_error_info': {'response_too_many_failed_attempts': "
                "{'http_status_code': 429}}}"
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
def test_the_end_is_told_by_the_answer_to_the_prompt(
    name: str, exit_code: int, status: Status, message: str
) -> None:
    done = Completed(exit_code=exit_code, stderr=b"no\n")
    assert ended(parse(read_rows(DATA / f"{name}.jsonl").rows).ending, done) == (status, message)


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("end_turn", Status.COMPLETED),
        ("max_turn_requests", Status.COMPLETED),
        ("refusal", Status.REFUSAL),
        ("max_tokens", Status.AGENT_ERROR),
        ("cancelled", Status.AGENT_ERROR),
    ],
)
def test_each_reason_to_stop_is_an_end(reason: str, status: Status) -> None:
    asked = {"from": "client", "message": {"id": 4, "method": "session/prompt"}}
    answer = {"from": "agent", "message": {"id": 4, "result": {"stopReason": reason}}}
    # Agents number their own requests, which are no answers.
    other = {"from": "agent", "message": {"id": 4, "method": "fs/read_text_file"}}
    ending = parse([asked, other, answer]).ending
    assert ending is not None
    assert (ending.status, stop_reason([asked, other, answer])) == (status, reason)
    assert parse([asked, other]).ending is None


def updates(*said: dict[str, Any]) -> Trace:
    rows = [
        {
            "time": number,
            "from": "agent",
            "message": {
                "method": "session/update",
                "params": {"update": {"sessionUpdate": "tool_call", "toolCallId": "1", **each}},
            },
        }
        for number, each in enumerate(said)
    ]
    return Trace(events=parse(rows).events)


@pytest.mark.parametrize(
    ("said", "tool", "args"),
    [
        ({"kind": "execute", "title": "ls"}, "exec", {"command": "ls"}),
        (
            {"kind": "other", "rawInput": {"command": ["git", "log", "a b"]}},
            "exec",
            {"command": "git log 'a b'"},
        ),
        (
            {"kind": "edit", "content": [{"type": "diff", "path": "a", "newText": "x"}]},
            "write",
            {"path": "a", "content": "x"},
        ),
        (
            {
                "kind": "edit",
                "title": "Writing to a",
                "content": [{"type": "diff", "path": "a", "oldText": "o", "newText": "n"}],
            },
            "write",
            {"path": "a", "content": "n"},
        ),
        ({"kind": "delete", "locations": [{"path": "a"}]}, "other", {"path": "a"}),
        (
            {"kind": "fetch", "title": "Get <http://a.example/x>"},
            "browse",
            {"url": "http://a.example/x"},
        ),
        ({"title": "dream"}, "other", {}),
        ({"kind": "dance", "rawInput": {"path": "a"}}, "other", {}),
    ],
)
def test_what_is_canonical_is_taken_from_where_it_stands(
    said: dict[str, Any], tool: str, args: dict[str, Any]
) -> None:
    assert calls(updates(said)) == [(tool, args)]


def test_later_updates_add_to_a_call_and_end_it_once() -> None:
    trace = updates(
        {"kind": "edit", "title": "Edit a", "status": "pending"},
        {"content": [{"type": "diff", "path": "a", "oldText": "o", "newText": "n"}]},
        {"status": "completed", "title": "Done", "content": [], "rawOutput": "1 change"},
        {"status": "completed", "content": []},
    )
    assert calls(trace) == [("edit", {"path": "a", "old": "o", "new": "n"})]
    assert [(r.text, r.status, r.time) for r in trace.results] == [("1 change", 200, 2.0)]


def test_the_surface_is_found_by_the_name_of_the_runtime() -> None:
    assert surface("acp") is SURFACE


@pytest.mark.parametrize("value", [None, 1, "x", [], [1], {"id": [1]}])
def test_messages_that_make_no_sense_raise_nothing(value: Any) -> None:
    keys = ("toolCallId", "kind", "title", "content", "locations", "rawInput", "rawOutput")
    rows: list[dict[str, Any]] = [{"from": "agent", "message": value, "time": value}]
    for kind in ("agent_message_chunk", "tool_call", "tool_call_update", value):
        for status in ("completed", value):
            update = {**dict.fromkeys(keys, value), "sessionUpdate": kind, "status": status}
            content = {**update, "content": [{"type": "terminal", "terminalId": value}, value]}
            for each in (update, content, value, {**update, "kind": "edit"}):
                params = {"update": each, "toolCall": each}
                for method in ("session/update", "session/request_permission"):
                    message = {"method": method, "params": params, "id": value}
                    rows.append({"from": "agent", "message": message, "time": value})
    for who in ("client", "agent", value):
        for name in ("result", "error", "method"):
            rows.append({"from": who, "message": {"id": value, name: value}})
    parse(rows)
