"""What is known of a skill in a trial: one that was given, one that was made, what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

#: What a phase is for: the task itself, a skill before it is done, or one after it was.
Role = Literal["execute", "author", "summarise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A skill for an agent. One that is ``seeded`` is the harness's own."""

    folder: Path
    seeded: bool = False

    @property
    def name(self) -> str:
        return self.folder.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """By what one sees that somebody was told of a skill.

    ``about`` is the beginning of its description, ``path`` where its ``SKILL.md`` lies in the
    workspace, ``mark`` a line from the middle of that file.
    """

    name: str
    about: str = ""
    path: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenSkill:
    """A skill that lay in the workspace when the agent came.

    ``seeded`` is one of the harness's own, which an agent may change. ``shown`` says whether the
    runtime told the model of it of its own accord, ``opened`` whether the agent looked into it, and
    ``used`` whether it ran something that the skill brought; None is *unknown*.
    """

    name: str
    files: int
    sha256: str
    seeded: bool = False
    shown: bool | None = None
    opened: bool | None = None
    used: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeSkill:
    """A skill that an agent left, as it was kept for later phases.

    ``quality`` is the heuristic of EvoClawBench, 0 to 1, which looks at the form alone.
    ``deviations`` from the Agent Skills form are told and never fatal; ``refused`` says why the
    skill was not given to a later phase, "" if it was.
    """

    name: str
    files: int
    bytes: int
    sha256: str
    characters: int = 0
    scripts: int = 0
    references: int = 0
    quality: float = 0.0
    deviations: tuple[str, ...] = ()
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """What an agent did to the skills that it was to use: paths below the folder of skills."""

    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.edited or self.deleted)
