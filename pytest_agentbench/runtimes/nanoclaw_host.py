"""The part of NanoClaw's host, as far as one message goes: starts its agent-runner, and stops it.

Runs inside the sandbox, with the standard library alone. The runner polls for messages for ever
and says in a database what became of them; what else it is about to do, it says on its stderr
alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

_TICK = 0.2
_GRACE = 5.0
_RESULT = re.compile(r"\[poll-loop\] Result: ")
_UNADDRESSED = re.compile(r"\[poll-loop\] WARNING: agent output had no <message")
_LEFT = re.compile(r"\[poll-loop\] (?:Completed|All) \d+ ")


def settled(lines: Iterable[str], status: str) -> bool:
    """Whether the runner is through with the message, whose ``status`` it wrote down.

    To an answer that is addressed to nobody it says so, once, and gets another.
    """
    if status not in ("completed", "failed"):
        return False
    said = list(lines)
    results = sum(1 for line in said if _RESULT.match(line))
    unaddressed = any(_UNADDRESSED.match(line) for line in said)
    return any(map(_LEFT.match, said)) or results > (1 if unaddressed else 0)


def _status(database: str, message: str) -> str:
    """What it wrote of the message so far."""
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            found = connection.execute(
                "SELECT status FROM processing_ack WHERE message_id = ?", (message,)
            ).fetchone()
    except sqlite3.Error:
        return ""
    return str(found[0]) if found else ""


def main(path: Path) -> int:
    """Exit code 0 once the message is done with; the runner's if that ends before."""
    config = json.loads(path.read_text("utf-8"))
    search = f"{config['bin']}{os.pathsep}{os.environ.get('PATH', '')}"
    runner = subprocess.Popen(
        config["argv"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PATH": search},
        text=True,
        errors="replace",
        start_new_session=True,
    )
    lines: list[str] = []

    def listen() -> None:
        for line in runner.stderr or ():
            lines.append(line)
            sys.stderr.write(line)
            sys.stderr.flush()

    threading.Thread(target=listen, daemon=True).start()
    quiet = 0
    # Twice, since the line that calls for another answer comes a moment after the status.
    while quiet < 2:
        try:
            return runner.wait(_TICK) or 1
        except subprocess.TimeoutExpired:
            done = settled(tuple(lines), _status(config["outbound"], config["message"]))
            quiet = quiet + 1 if done else 0
    _stop(runner)
    return 0


def _stop(runner: subprocess.Popen[str]) -> None:
    """End it, and what it started."""
    deadline = time.monotonic() + _GRACE
    with contextlib.suppress(ProcessLookupError):
        os.killpg(runner.pid, signal.SIGTERM)
        while time.monotonic() < deadline:
            runner.poll()
            os.killpg(runner.pid, 0)  # until nobody is left
            time.sleep(_TICK / 4)
        os.killpg(runner.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
