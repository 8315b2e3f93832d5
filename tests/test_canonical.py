"""Canonical events as JSON lines, also when an agent wrote them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_agentbench.trace.canonical import Reading, from_json, read_events, to_json
from pytest_agentbench.trace.events import Event, EventKind

EVENTS = (
    Event(kind=EventKind.USER, text="Do ü."),
    Event(
        kind=EventKind.CALL,
        tool="write",
        args={"path": "a", "content": ""},
        call_id="1",
        time=0.5,
        native_name="Write",
        native={"file_path": "a"},
    ),
    Event(kind=EventKind.RESULT, tool="write", text="ok", call_id="1", status=200, time=0.75),
    Event(kind=EventKind.ASSISTANT, text="Done."),
)

LINES = "".join(json.dumps(to_json(event)) + "\n" for event in EVENTS)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(LINES)
    assert read_events(tmp_path / "t") == Reading(EVENTS)


def test_fields_without_a_value_are_left_out() -> None:
    assert to_json(EVENTS[3]) == {"kind": "assistant_message", "text": "Done."}
    assert to_json(EVENTS[0]) == {"kind": "user_message", "text": "Do ü."}
    assert from_json({"kind": "tool_call", "future": 1}) == Event(kind=EventKind.CALL)


def test_lines_that_are_no_events_are_counted(tmp_path: Path) -> None:
    lines = [
        b'{"kind": "assistant_message", "text": "a"}',
        b'{"kind": "dream"}',
        b"[]",
        b"\xff\xfe",
        b'{"kind": "tool_call", "args": [1]}',
        b'{"kind": "tool_call", "args": {"x": NaN}}',
        b'{"kind": "tool_call", "time": ' + b"9" * 400 + b"}",
        b"[" * 100_000,
        b'{"kind": "assistant_message", "text": "b"}',
        b'{"kind": "assist',
    ]
    (tmp_path / "t").write_bytes(b"\n".join(lines))
    reading = read_events(tmp_path / "t")
    assert [(event.kind, event.text) for event in reading.events] == [
        (EventKind.ASSISTANT, "a"),
        (EventKind.CALL, ""),
        (EventKind.ASSISTANT, "b"),
    ]
    assert reading.flags == ("trace_lines_unreadable",)
    assert reading.bad == 7


def test_half_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(
        json.dumps({"kind": "tool_call", "args": {"path": "a\ud800", "b": "\U0001f600"}})
    )
    assert read_events(tmp_path / "t").events[0].args == {"path": "a?", "b": "\U0001f600"}


@pytest.mark.parametrize("kind", ["nothing", "folder", "pipe", "link"])
def test_what_is_no_file_has_no_events(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        (tmp_path / "other").write_text(LINES)
        path.symlink_to(tmp_path / "other")
    assert read_events(path) == Reading()
