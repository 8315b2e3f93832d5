"""The databases over which NanoClaw's host and agent-runner speak, with one message in them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

#: The id of the message.
MESSAGE = "agentbench"
_INBOUND = """
CREATE TABLE messages_in (
    id TEXT PRIMARY KEY, seq INTEGER UNIQUE, kind TEXT NOT NULL, timestamp TEXT NOT NULL,
    status TEXT DEFAULT 'pending', process_after TEXT, recurrence TEXT, series_id TEXT,
    tries INTEGER DEFAULT 0, trigger INTEGER NOT NULL DEFAULT 1, platform_id TEXT,
    channel_type TEXT, thread_id TEXT, content TEXT NOT NULL, source_session_id TEXT,
    on_wake INTEGER NOT NULL DEFAULT 0);
CREATE TABLE delivered (
    message_out_id TEXT PRIMARY KEY, platform_message_id TEXT,
    status TEXT NOT NULL DEFAULT 'delivered', delivered_at TEXT NOT NULL);
CREATE TABLE destinations (
    name TEXT PRIMARY KEY, display_name TEXT, type TEXT NOT NULL, channel_type TEXT,
    platform_id TEXT, agent_group_id TEXT);
CREATE TABLE session_routing (
    id INTEGER PRIMARY KEY CHECK (id = 1), channel_type TEXT, platform_id TEXT, thread_id TEXT);
INSERT INTO destinations VALUES ('user', 'User', 'channel', 'agentbench', 'user', NULL);
INSERT INTO session_routing VALUES (1, 'agentbench', 'user', NULL);
"""
_OUTBOUND = """
CREATE TABLE messages_out (
    id TEXT PRIMARY KEY, seq INTEGER UNIQUE, in_reply_to TEXT, timestamp TEXT NOT NULL,
    deliver_after TEXT, recurrence TEXT, kind TEXT NOT NULL, platform_id TEXT, channel_type TEXT,
    thread_id TEXT, content TEXT NOT NULL);
CREATE TABLE processing_ack (
    message_id TEXT PRIMARY KEY, status TEXT NOT NULL, status_changed TEXT NOT NULL);
"""


def create(folder: Path, text: str) -> None:
    """``inbound.db`` with the message, and an ``outbound.db`` for what comes of it."""
    # A chat that begins with a slash would be a command, and never reach the model.
    task = text.lstrip().startswith("/")
    content = {"prompt": text} if task else {"text": text, "sender": "User"}
    with closing(sqlite3.connect(folder / "inbound.db")) as database:
        database.executescript(_INBOUND)
        database.execute(
            "INSERT INTO messages_in (id, seq, kind, timestamp, platform_id, channel_type, content)"
            " VALUES (?, 2, ?, strftime('%Y-%m-%dT%H:%M:%fZ'), 'user', 'agentbench', ?)",
            (MESSAGE, "task" if task else "chat", json.dumps(content)),
        )
        database.commit()
    with closing(sqlite3.connect(folder / "outbound.db")) as database:
        database.executescript(_OUTBOUND)
