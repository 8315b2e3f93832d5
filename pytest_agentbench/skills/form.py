"""The Agent Skills form: what a ``SKILL.md`` says of itself, and where it departs from the form.

The form is that of agentskills.io: a folder with ``SKILL.md``, which begins with YAML front matter.
Nothing here is fatal: agents write what they write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.scenario.model import ScenarioError
from pytest_agentbench.scenario.yamlfile import parse_text
from pytest_agentbench.text import escape

#: The file that makes a folder a skill.
SKILL = "SKILL.md"
KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
NAME_CHARACTERS, DESCRIPTION_CHARACTERS, COMPATIBILITY_CHARACTERS, LINES = 64, 1024, 500, 500
#: Characters of front matter that are read.
_FRONT = 16 << 10
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MATTER = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillText:
    """A ``SKILL.md`` as read: ``front`` matter, ``body``, and deviations found in reading."""

    front: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""
    deviations: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self._text("name")

    @property
    def description(self) -> str:
        return self._text("description")

    def _text(self, key: str) -> str:
        value = self.front.get(key, "")
        return value.strip() if isinstance(value, str) else ""


def read_skill(data: bytes) -> SkillText:
    """What a ``SKILL.md`` says. Whatever it holds, there is an answer."""
    told: list[str] = []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        told.append(f"{SKILL} is not UTF-8: byte {error.start}")
        text = data.decode("utf-8", "replace")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    matter = _MATTER.match(text)
    if matter is None:
        return SkillText(body=text, deviations=(*told, f"{SKILL} has no front matter"))
    body = text[matter.end() :]
    if len(matter[1]) > _FRONT:
        told.append(f"the front matter has more than {_FRONT >> 10} KiB")
        return SkillText(body=body, deviations=tuple(told))
    try:
        front = parse_text(matter[1], Path(SKILL), above=1).value
    except ScenarioError as error:
        told.append(f"the front matter cannot be read: {escape(str(error), 200)}")
        return SkillText(body=body, deviations=tuple(told))
    if not isinstance(front, Mapping):
        told.append("the front matter is no mapping")
        return SkillText(body=body, deviations=tuple(told))
    return SkillText(front=front, body=body, deviations=tuple(told))


def deviations(skill: SkillText, folder: str) -> tuple[str, ...]:
    """Where a skill in the folder ``folder`` departs from the form, in words."""
    return (*skill.deviations, *_deviations(skill, folder))


def _deviations(skill: SkillText, folder: str) -> Iterator[str]:
    if not skill.front:
        return
    for key in ("name", "description"):
        if not isinstance(skill.front.get(key), str) or not skill.front[key].strip():
            yield f"{key} is missing" if key not in skill.front else f"{key} is no text"
    if skill.name and not _NAME.fullmatch(skill.name):
        yield f"name {escape(skill.name, 80)!r} is not lower-case letters, digits and hyphens"
    if len(skill.name) > NAME_CHARACTERS:
        yield f"name has {len(skill.name)} characters; {NAME_CHARACTERS} are allowed"
    if skill.name and skill.name != folder:
        yield f"name {escape(skill.name, 80)!r} is not that of the folder"
    if len(skill.description) > DESCRIPTION_CHARACTERS:
        told = f"description has {len(skill.description):,} characters"
        yield f"{told}; {DESCRIPTION_CHARACTERS:,} are allowed"
    if len(str(skill.front.get("compatibility", ""))) > COMPATIBILITY_CHARACTERS:
        yield f"compatibility has more than {COMPATIBILITY_CHARACTERS} characters"
    for key in skill.front:
        if key not in KEYS:
            yield f"unknown key {escape(str(key), 80)!r}"
    if not skill.body.strip():
        yield "it says nothing below the front matter"
    if (lines := skill.body.count("\n")) > LINES:
        yield f"{SKILL} has {lines:,} lines; {LINES} are recommended at most"


def quality(skill: SkillText, characters: int, scripts: int, references: int) -> float:
    """The heuristic of EvoClawBench's harness, 0 to 1: it looks at the form and at no content.

    Name .2, description .2, over 100 characters .2, over 500 .1, scripts .2, references .1.
    """
    parts = (
        (bool(skill.name), 0.2),
        (bool(skill.description), 0.2),
        (characters > 100, 0.2),
        (characters > 500, 0.1),
        (scripts > 0, 0.2),
        (references > 0, 0.1),
    )
    return round(sum(points for holds, points in parts if holds), 4)
