"""Skills that an agent is given, put to where its runtime looks for them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_agentbench.skill import GivenSkill, Notice, Offer
from pytest_agentbench.skills.contents import copied
from pytest_agentbench.skills.form import SKILL, read_skill

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


def _place(offer: Offer, target: Path) -> GivenSkill:
    sha256, count = copied(offer.folder, target)
    return GivenSkill(name=offer.name, files=count, sha256=sha256, seeded=offer.seeded)
