"""Patches in the form that Codex and its like apply: which files they touch, and how."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_FILE = re.compile(
    r"^\*\*\* (?P<kind>Add|Update|Delete) File: (?P<path>.+)$|^\*\*\* Move to: (?P<to>.+)$",
    re.MULTILINE,
)
_PATCH = re.compile(r"^\*\*\* Begin Patch$.*?^\*\*\* End Patch$", re.MULTILINE | re.DOTALL)
#: A command line that applies a patch: the runtime does so itself, and starts no shell.
_APPLIES = re.compile(r"\s*(?:cd [^&;|]+&&\s*)?(?:apply_patch|applypatch)\b")


def patched(patch: str) -> dict[str, Any]:
    """Canonical arguments of a patch: ``path``, and ``paths`` if there are several.

    One that makes a single new file and does no more has its ``content``.
    """
    found = list(_FILE.finditer(patch))
    paths = list(dict.fromkeys((each["path"] or each["to"]).strip() for each in found))
    if not paths:
        return {}
    if [each["kind"] for each in found] == ["Add"]:
        lines = [line[1:] for line in patch.splitlines() if line.startswith("+")]
        return {"path": paths[0], "content": "".join(f"{line}\n" for line in lines)}
    return {"path": paths[0]} if len(paths) == 1 else {"path": paths[0], "paths": paths}


def patch_in(command: str) -> str:
    """The patch that a command line applies; empty if it does something else."""
    found = _PATCH.search(command) if _APPLIES.match(command) else None
    return found[0] if found else ""


def as_patch(changes: Mapping[str, Any]) -> str:
    """The patch for a mapping of paths to changes, as far as names and new files go."""
    lines = ["*** Begin Patch"]
    for path, change in changes.items():
        known = change if isinstance(change, dict) else {}
        kind = {"add": "Add", "delete": "Delete"}.get(str(known.get("type")), "Update")
        lines.append(f"*** {kind} File: {path}")
        if kind == "Add":
            lines += [f"+{line}" for line in str(known.get("content") or "").splitlines()]
        if known.get("move_path"):
            lines.append(f"*** Move to: {known['move_path']}")
    return "\n".join([*lines, "*** End Patch"])
