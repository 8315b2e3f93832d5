"""Skills that an agent is given, put to where its runtime looks for them."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_agentbench.skill import GivenSkill, Notice, Offer
from pytest_agentbench.skills.form import SKILL, read_skill
from pytest_agentbench.status import Status, TrialFault, status_of

#: What Python leaves beside scripts, also where a package is installed.
_COMPILED = "__pycache__"
#: Characters of a description that are looked for: runtimes cut long ones.
_ABOUT = 40
#: Lines of a skill among which the longest is one to know it by.
_LINES = 20


def place(offers: Iterable[Offer], workspace: Path, folder: str) -> tuple[GivenSkill, ...]:
    """Copy skills to ``folder`` in the workspace.

    Raises ``TrialFault`` for a skill that cannot be copied, such as one with a link.
    """
    return tuple(_place(offer, workspace / folder / offer.name) for offer in offers)


def notices(offers: Iterable[Offer], folder: str) -> tuple[Notice, ...]:
    """By what one sees that a model was told of each of the skills in ``folder``."""
    found = []
    for offer in offers:
        path = offer.folder / SKILL
        skill = read_skill(path.read_bytes() if path.is_file() else b"")
        found.append(
            Notice(
                name=offer.name,
                about=" ".join(skill.description.split())[:_ABOUT],
                path=f"{folder}/{offer.name}/{SKILL}",
                mark=max(map(str.strip, skill.body.splitlines()[:_LINES]), key=len, default=""),
            )
        )
    return tuple(found)


def digest(skill: Path) -> str:
    """SHA-256 of a skill's names, modes and contents. Raises ``TrialFault`` as ``place`` does."""
    return _digest(skill, None)[0]


def _place(offer: Offer, target: Path) -> GivenSkill:
    sha256, count = _digest(offer.folder, target)
    return GivenSkill(name=offer.name, files=count, sha256=sha256, seeded=offer.seeded)


def _digest(skill: Path, target: Path | None) -> tuple[str, int]:
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
