"""What a skill is made of: its files, and the hash of them."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from pytest_agentbench.status import Status, TrialFault, status_of

#: What Python leaves beside scripts, also where a package is installed.
_COMPILED = "__pycache__"


def digest(skill: Path) -> str:
    """SHA-256 of a skill's names, modes and contents. Raises ``TrialFault`` as ``place`` does."""
    return copied(skill, None)[0]


def copied(skill: Path, target: Path | None) -> tuple[str, int]:
    """Copy a skill to ``target`` unless that is None; its hash and the number of its files."""
    total, count = hashlib.sha256(), 0
    try:
        for relative in files(skill):
            source = skill / relative
            content = source.read_bytes()
            executable = b"x" if source.stat().st_mode & 0o100 else b"-"
            total.update(f"{relative}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
            total.update(executable + content)
            count += 1
            if target is not None:
                copy = target / relative
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, copy)
    except OSError as error:
        problem = f"skill {skill.name} cannot be copied: {error.strerror}"
        raise TrialFault(status_of(error), problem) from error
    return total.hexdigest(), count


def files(skill: Path) -> Iterator[str]:
    """The regular files of a skill, in order. Raises ``TrialFault`` for anything else in it."""
    for root, folders, names in os.walk(skill):
        folders[:] = sorted(name for name in folders if name != _COMPILED)
        for name in sorted(names):
            source = Path(root, name)
            if source.is_symlink() or not source.is_file():
                problem = f"skill {skill.name}: {name!r} is no regular file; make it one"
                raise TrialFault(Status.HARNESS_ERROR, problem)
            yield source.relative_to(skill).as_posix()
