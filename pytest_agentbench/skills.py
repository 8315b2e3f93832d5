"""Skills that an agent is given: folders in the Agent Skills form, each with a ``SKILL.md``."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_agentbench.status import Status, TrialFault, status_of


def place(skills: Iterable[Path], workspace: Path, folder: str) -> tuple[dict[str, Any], ...]:
    """Copy skills to where a runtime looks for them: ``folder`` in the workspace.

    Returns what was placed: ``name``, number of ``files`` and the ``sha256`` of their names and
    contents. Raises ``TrialFault`` for a skill that cannot be copied, such as one with a link.
    """
    return tuple(_place(skill, workspace / folder / skill.name) for skill in skills)


def _place(skill: Path, target: Path) -> dict[str, Any]:
    digest, count = hashlib.sha256(), 0
    try:
        for root, folders, names in os.walk(skill):
            folders.sort()
            for name in sorted(names):
                source = Path(root, name)
                if source.is_symlink() or not source.is_file():
                    problem = f"skill {skill.name}: {name!r} is no regular file; make it one"
                    raise TrialFault(Status.HARNESS_ERROR, problem)
                relative = source.relative_to(skill)
                copy = target / relative
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, copy)
                content = source.read_bytes()
                digest.update(f"{relative.as_posix()}\0{len(content)}\0".encode())
                digest.update(content)
                count += 1
    except OSError as error:
        problem = f"skill {skill.name} cannot be copied: {error.strerror}"
        raise TrialFault(status_of(error), problem) from error
    return {"name": skill.name, "files": count, "sha256": digest.hexdigest()}
