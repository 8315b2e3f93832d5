"""Checks of how a repair was finished."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def tested_last(workspace: Path, trace: Any, *, paths: str, command: str) -> tuple[bool, str]:
    """After the last write or edit of a file whose path matches, a command ran that matches.

    Files that were only ever changed by commands leave no such call: then any run counts.
    """
    changed = tested = -1
    for event in trace["events"]:
        if event["type"] != "tool_call":
            continue
        args = event["args"]
        if event["tool"] in ("write", "edit") and re.search(paths, str(args.get("path", ""))):
            changed = event["seq"]
        elif event["tool"] == "exec" and re.search(command, str(args.get("command", ""))):
            tested = event["seq"]
    return tested > changed, f"last change in event {changed}, last test in event {tested}"
