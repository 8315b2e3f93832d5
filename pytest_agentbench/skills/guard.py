"""Tells whether an agent left the skills that it was to use as they were."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_agentbench.files import read_regular
from pytest_agentbench.skill import Mutation

#: Bytes of a file that its hash is of, and files that are looked at.
_FILE, _FILES = 64 << 20, 10_000
_SHOWN = 200
#: By path below the folder of skills: kind, mode and what it holds.
Snapshot = Mapping[str, str]


def snapshot(folder: Path) -> Snapshot:
    """All that lies below ``folder`` and is no folder: kind, permissions, SHA-256 or the link.

    What cannot be read is told as that, so that it is a change. Never raises ``OSError``.
    """
    found: dict[str, str] = {}
    if folder.is_symlink():
        return {".": _state(folder)}
    for path in _walk(folder):
        if len(found) == _FILES:
            found["…"] = f"more than {_FILES:,} files"
            break
        found[path] = _state(folder / path)
    return found


def mutation(before: Snapshot, after: Snapshot) -> Mutation:
    """What was added, edited (permissions and kind included) and deleted, in order."""
    shown = {path: _shown(path) for path in (*before, *after)}
    return Mutation(
        added=tuple(sorted(shown[path] for path in after.keys() - before.keys())),
        edited=tuple(
            sorted(shown[p] for p in after.keys() & before.keys() if before[p] != after[p])
        ),
        deleted=tuple(sorted(shown[path] for path in before.keys() - after.keys())),
    )


def _walk(root: Path) -> Iterator[str]:
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(root / folder) as listing:
                children = sorted(listing, key=lambda child: os.fsencode(child.name))
        except OSError:
            if folder:
                yield folder
            continue
        for child in children:
            path = f"{folder}/{child.name}" if folder else child.name
            if child.is_dir(follow_symlinks=False):
                pending.append(path)
            else:
                yield path


def _state(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return f"link {path.readlink()}"
        told = f"{stat.filemode(mode)} "
        if not stat.S_ISREG(mode):
            return told
        return told + hashlib.sha256(read_regular(path, _FILE)).hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _shown(path: str) -> str:
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
