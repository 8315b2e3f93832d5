"""What Python checkers see: the workspace, or a copy without what could harm who reads it."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from pytest_agentbench.status import TrialFault, status_of

FILE_LIMIT = 10 << 20
ENTRY_LIMIT = 20_000
#: Beyond these, a copy is made only where one is needed.
SMALL_BYTES, SMALL_FILES = 5 << 20, 200
_NOTES = 20
_OF_AGENTS = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOENT)


@dataclass(frozen=True, slots=True)
class View:
    """A folder for checkers, and in words what of the workspace is not in it."""

    root: Path
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a workspace; ``problem`` says why no checker should touch it."""

    path: str
    mode: int
    size: int = 0
    problem: str = ""


def take(
    workspace: Path,
    into: Path,
    *,
    copy: Literal["if needed", "if small", "always"] = "if needed",
    limit: int = ENTRY_LIMIT,
) -> View:
    """The workspace itself if it is harmless, else a copy of what is harmless in it.

    ``into`` is a folder, not yet there, for the copy; ``copy`` asks for one of harmless
    workspaces too. Links are never followed; one that leads out is left out, as are
    FIFOs, sockets, devices, what cannot be read, files over ``FILE_LIMIT`` bytes and whatever
    comes after the first ``limit`` entries. Raises ``TrialFault`` for trouble of the harness's.
    """
    found = list(entries(workspace, limit))
    notes = [f"{_shown(entry.path)} {entry.problem}" for entry in found if entry.problem]
    files = [entry for entry in found if stat.S_ISREG(entry.mode)]
    small = len(files) < SMALL_FILES and sum(entry.size for entry in files) < SMALL_BYTES
    if not notes and not (copy == "always" or (copy == "if small" and small)):
        return View(workspace)
    into.mkdir(mode=0o700)
    for entry in found:
        if not entry.problem and (problem := _copy(workspace / entry.path, into, entry)):
            notes.append(f"{_shown(entry.path)} {problem}")
    if len(notes) > _NOTES:
        notes[_NOTES:] = [f"and {len(notes) - _NOTES} more"]
    return View(into, tuple(f"not shown to checkers: {note}" for note in notes))


def entries(root: Path, limit: int = ENTRY_LIMIT) -> Iterator[Entry]:
    """All that is below ``root``, folders before what they hold, in the order of names."""
    real = os.path.realpath(root)
    pending = [""]
    count = 0
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(root / folder) as listing:
                children = sorted(listing, key=lambda child: os.fsencode(child.name))
        except OSError as error:
            yield Entry(folder or ".", 0, problem=f"cannot be listed: {_blame(error)}")
            continue
        inner = []
        for child in children:
            count += 1
            path = f"{folder}/{child.name}" if folder else child.name
            if count > limit:
                problem = f"and all after it: more than {limit:,} entries"
                yield Entry(path, 0, problem=problem)
                return
            entry = _look(root, path, child, real)
            yield entry
            if stat.S_ISDIR(entry.mode):
                inner.append(path)
        pending += reversed(inner)


def _look(root: Path, path: str, child: os.DirEntry[str], real: str) -> Entry:
    try:
        info = child.stat(follow_symlinks=False)
        return Entry(path, info.st_mode, info.st_size, _problem(root, path, info, real))
    except OSError as error:
        return Entry(path, 0, problem=f"cannot be looked at: {_blame(error)}")


def _blame(error: OSError) -> str:
    """What an agent brought about, in words. Raises ``TrialFault`` for any other trouble."""
    if error.errno in _OF_AGENTS:
        return os.strerror(error.errno)
    problem = f"cannot show the workspace to checkers: {error.strerror}"
    raise TrialFault(status_of(error), problem) from error


def _problem(root: Path, path: str, info: os.stat_result, real: str) -> str:
    if stat.S_ISDIR(info.st_mode):
        return ""
    if stat.S_ISLNK(info.st_mode):
        return "" if _stays(root, path, real) else "is a link that leaves the workspace"
    if not stat.S_ISREG(info.st_mode):
        return "is no regular file"
    if info.st_size > FILE_LIMIT:
        return f"is larger than {FILE_LIMIT >> 20} MiB"
    return ""


def _stays(root: Path, path: str, real: str) -> bool:
    """Whether a link stays inside, wherever the workspace may be moved."""
    link = root / path
    target = link.readlink()
    written = os.path.normpath(PurePosixPath(path).parent / target)
    resolved = os.path.realpath(link)
    inside = resolved == real or resolved.startswith(f"{real}/")
    return inside and not target.is_absolute() and written.split("/")[0] != ".."


def _copy(source: Path, into: Path, entry: Entry) -> str:
    """Copy one entry; why it could not be, or nothing."""
    target = into / entry.path
    try:
        if stat.S_ISDIR(entry.mode):
            target.mkdir()
        elif stat.S_ISLNK(entry.mode):
            target.symlink_to(source.readlink())
        else:
            shutil.copyfile(source, target, follow_symlinks=False)
            target.chmod(0o700 if entry.mode & stat.S_IXUSR else 0o600)
    except OSError as error:
        return f"cannot be copied: {_blame(error)}"
    return ""


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")
