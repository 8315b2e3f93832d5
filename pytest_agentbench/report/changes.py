"""What an agent changed in its workspace: which files, and how."""

from __future__ import annotations

import dataclasses
import difflib
import fnmatch
import hashlib
import io
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_agentbench.files import read_regular
from pytest_agentbench.grading.snapshot import FILE_LIMIT, entries
from pytest_agentbench.scenario.model import InputFile
from pytest_agentbench.status import TrialFault
from pytest_agentbench.text import escape

#: Bytes of a file, lines of one, and bytes of all, that a diff shows: finding the difference takes
#: time that grows with the square of the lines.
_FILE, _LINES, _ALL = 256 << 10, 4000, 1 << 20
#: Files that are named; an agent may leave thousands.
LISTED = 2000
_SHOWN = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file after the run; a ``deleted`` one as it was before.

    ``path`` is as the file system has it, so it may hold anything; ``kind`` is ``added``, ``modified`` or ``deleted``; ``own`` marks files that the runtime itself
    puts into workspaces. ``sha256`` is empty for what is no file that can be read; ``note`` says why.
    """

    path: str
    kind: str
    size: int = 0
    executable: bool = False
    sha256: str = ""
    own: bool = False
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        shown = escape(os.fsencode(self.path).decode("utf-8", "backslashreplace"), _SHOWN)
        return {**dataclasses.asdict(self), "path": shown}


def changes(
    before: Iterable[InputFile], workspace: Path, own: tuple[str, ...] = ()
) -> tuple[Change, ...]:
    """All that is not as it was in ``before``, by path, at most ``LISTED``; ``own`` are globs.

    Raises ``TrialFault`` for a workspace that cannot be listed.
    """
    were = {os.path.normpath(item.dest): item for item in before}
    found = []
    for entry in entries(workspace):
        if stat.S_ISDIR(entry.mode):
            continue
        item = were.pop(entry.path, None)
        content = None if entry.problem else _content(workspace / entry.path)
        executable = bool(entry.mode & stat.S_IXUSR)
        if item is not None and content is not None and _same(item, content, executable):
            continue
        found.append(
            Change(
                path=entry.path,
                kind="added" if item is None else "modified",
                size=entry.size,
                executable=executable,
                sha256=hashlib.sha256(content).hexdigest() if content is not None else "",
                own=any(fnmatch.fnmatchcase(entry.path, glob) for glob in own),
                note=entry.problem or ("" if content is not None else "is no readable file"),
            )
        )
    for path, item in were.items():
        content = item.read()
        digest = hashlib.sha256(content).hexdigest()
        found.append(Change(path=path, kind="deleted", size=len(content), sha256=digest))
    return tuple(sorted(found, key=lambda change: change.path))[:LISTED]


def diff(before: Iterable[InputFile], workspace: Path, changed: Iterable[Change]) -> str:
    """The changes in the form of ``diff -u``, of text files that are not too large for it.

    What the runtime itself has added is left out.
    """
    were = {os.path.normpath(item.dest): item for item in before}
    shown: list[str] = []
    size = 0
    for change in changed:
        if change.own and change.kind == "added":
            continue
        part = "".join(_diff(change, were.get(change.path), workspace))
        size += len(part)
        if size > _ALL:
            shown.append(f"# the rest is left out: over {_ALL >> 20} MiB\n")
            break
        shown.append(part)
    return "".join(shown)


def _diff(change: Change, item: InputFile | None, workspace: Path) -> Iterator[str]:
    name = change.to_json()["path"]
    yield f"diff a/{name} b/{name}\n"
    old = b"" if item is None else item.read()
    new: bytes | None = b""
    if change.kind != "deleted":
        new = None if change.note else _content(workspace / change.path)
    if new is None:
        yield f"# {change.note or 'is no readable file'}\n"
        return
    before, after = _lines(old), _lines(new)
    if before is None or after is None:
        yield f"# binary or large: {len(old):,} bytes before, {len(new):,} after\n"
        return
    names = (
        "/dev/null" if change.kind == "added" else f"a/{name}",
        "/dev/null" if change.kind == "deleted" else f"b/{name}",
    )
    for line in difflib.unified_diff(before, after, *names):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(content: bytes) -> list[str] | None:
    if len(content) > _FILE or b"\0" in content:
        return None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    # Not splitlines, which also ends lines at form feeds and the like.
    lines = io.StringIO(text, newline="\n").readlines()
    return lines if len(lines) <= _LINES else None


def _content(path: Path) -> bytes | None:
    try:
        return read_regular(path, FILE_LIMIT)
    except OSError:
        return None


def _same(item: InputFile, content: bytes, executable: bool) -> bool:
    return item.executable == executable and item.read() == content


def listing(folder: Path) -> tuple[InputFile, ...]:
    """The files of a copy of a workspace, as it was before."""
    try:
        found = [entry for entry in entries(folder) if stat.S_ISREG(entry.mode)]
    except TrialFault:
        return ()
    return tuple(
        InputFile(
            dest=entry.path,
            source=folder / entry.path,
            executable=bool(entry.mode & stat.S_IXUSR),
        )
        for entry in found
        if not entry.problem
    )
