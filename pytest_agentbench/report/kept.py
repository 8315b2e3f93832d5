"""The workspace of a trial, kept for people to look at."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.files import remove
from pytest_agentbench.grading.snapshot import Entry, entries
from pytest_agentbench.text import escape

#: Bytes of one workspace that are kept.
LIMIT = 256 << 20
_NOTES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """How much was kept, and in words what was not."""

    files: int
    bytes: int
    notes: tuple[str, ...] = ()


def keep(workspace: Path, into: Path, *, limit: int = LIMIT) -> Kept:
    """Copy what is harmless in ``workspace`` to the folder ``into``, made anew.

    Links stay links and are never followed; those that lead out are left out, since whoever
    copies a run folder elsewhere may follow them. So are FIFOs, sockets, devices, very large files
    and, once ``limit`` bytes are kept, all other files. Raises ``OSError``, and ``TrialFault`` for
    a workspace that cannot be listed.
    """
    remove(into)
    into.mkdir(parents=True, mode=0o700)
    files = total = 0
    notes = []
    for entry in entries(workspace):
        problem = entry.problem
        if not problem and stat.S_ISREG(entry.mode) and total + entry.size > limit:
            problem = f"is beyond the {limit >> 20} MiB that are kept"
        if not problem:
            try:
                _copy(workspace / entry.path, into / entry.path, entry)
            except OSError as error:
                problem = f"cannot be copied: {error.strerror}"
        if problem:
            notes.append(f"{_shown(entry.path)} {problem}")
        elif stat.S_ISREG(entry.mode):
            files, total = files + 1, total + entry.size
    if len(notes) > _NOTES:
        notes[_NOTES:] = [f"and {len(notes) - _NOTES} more"]
    return Kept(files=files, bytes=total, notes=tuple(notes))


def _copy(source: Path, target: Path, entry: Entry) -> None:
    if stat.S_ISDIR(entry.mode):
        target.mkdir(mode=0o700)
    elif stat.S_ISLNK(entry.mode):
        target.symlink_to(source.readlink())
    else:
        shutil.copyfile(source, target, follow_symlinks=False)
        target.chmod(0o700 if entry.mode & stat.S_IXUSR else 0o600)


def _shown(path: str) -> str:
    return escape(os.fsencode(path).decode("utf-8", "backslashreplace"))
