"""Checks of a release notice: Markdown with sections of bullets that name tickets."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOTICE = "out/notice.md"
LIMIT = 1 << 20
#: With fewer bullets there is no notice to judge the form of.
LEAST_BULLETS = 10


def check(function: Callable[..., str]) -> Callable[..., tuple[bool, str]]:
    """A check from a function that says what is wrong, or nothing; no notice is wrong too."""

    @functools.wraps(function)
    def checked(workspace: Path, trace: Any, **args: Any) -> tuple[bool, str]:
        try:
            wrong = function(workspace, **args)
        except (OSError, ValueError) as error:
            wrong = str(error) or type(error).__name__
        return not wrong, wrong

    return checked


@dataclass(frozen=True, slots=True)
class Bullet:
    section: str
    line: str

    @property
    def tickets(self) -> list[str]:
        """What stands in the brackets that end the line."""
        found = re.search(r"\[([^\[\]]*)\]$", self.line)
        return re.findall(r"FR-\d+", found[1]) if found else []

    @property
    def text(self) -> str:
        return re.sub(r"\s*\[[^\[\]]*\]$", "", self.line.removeprefix("- ")).strip()


@check
def sections(workspace: Path, *, headings: Sequence[str]) -> str:
    """The headings of the second level are these, in this order."""
    found = [line[3:].strip() for line in _text(workspace).splitlines() if line.startswith("## ")]
    return "" if found == list(headings) else f"the sections are {', '.join(found)}"


@check
def listed(workspace: Path, *, section: str, tickets: Sequence[str]) -> str:
    """A section names these tickets once each, in any order; joint bullets are left aside."""
    found = [b.tickets[0] for b in _bullets(workspace, section) if len(b.tickets) == 1]
    return "" if sorted(found) == sorted(tickets) else f"{section} names {', '.join(found)}"


@check
def joint(workspace: Path, *, section: str, line: str) -> str:
    """The only bullet of the notice with several tickets is ``line``, the last of its section."""
    bullets = _bullets(workspace, section)
    several = [b.line for b in _bullets(workspace) if len(b.tickets) > 1]
    if bullets and bullets[-1].line == line and several == [line]:
        return ""
    return f"bullets of several tickets: {several}"


@check
def deadlines(workspace: Path, *, section: str, dates: Mapping[str, str]) -> str:
    """Each bullet of a section begins with the date that its ticket has in ``dates``."""
    found = {
        ticket: (re.match(r"By ([^:]*): *\S", b.text) or ["", ""])[1]
        for b in _bullets(workspace, section)
        for ticket in b.tickets
    }
    return "" if found == dict(dates) else f"{section} has {found}"


@check
def ordered(workspace: Path, *, by_number: Sequence[str]) -> str:
    """Within each of these sections the first ticket numbers rise."""
    _enough(workspace)
    for section in by_number:
        numbers = [
            int(b.tickets[0][3:]) for b in _bullets(workspace, section) if len(b.tickets) == 1
        ]
        if not numbers or numbers != sorted(numbers):
            return f"{section} is in the order {numbers}"
    return ""


@check
def form(workspace: Path, *, width: int, starts: Mapping[str, str]) -> str:
    """Bullets keep to the width and end in one pair of brackets, without a full stop before it.

    ``starts`` gives a pattern for the text of the bullets with one ticket, by section.
    """
    for bullet in _enough(workspace):
        if len(bullet.line) > width:
            return f"{len(bullet.line)} characters: {bullet.line}"
        if not bullet.tickets or bullet.text.endswith((".", "]")):
            return f"does not end as it should: {bullet.line}"
        pattern = starts.get(bullet.section, "")
        if len(bullet.tickets) == 1 and not re.match(pattern, bullet.text):
            return f"begins as it should not: {bullet.line}"
    return ""


@check
def named(workspace: Path, *, sections: Sequence[str], names: Mapping[str, Sequence[str]]) -> str:
    """Bullets of one ticket name its part of the product: ``names`` gives tickets by name."""
    part = {ticket: name for name, tickets in names.items() for ticket in tickets}
    bullets = [b for b in _enough(workspace) if b.section in sections and len(b.tickets) == 1]
    for bullet in bullets:
        name = part.get(bullet.tickets[0], "")
        if not re.search(rf"\b{re.escape(name)}\b", bullet.text, re.IGNORECASE):
            return f"does not say {name!r}: {bullet.line}"
    return "" if bullets else "there are no such bullets"


@check
def wording(workspace: Path, *, words: Sequence[str], patterns: Sequence[str]) -> str:
    """None of the words stands in the notice, whatever its case, and nothing matches."""
    _enough(workspace)
    text = _text(workspace)
    for pattern in (*(rf"\b{re.escape(word)}\b" for word in words), *patterns):
        if found := re.search(pattern, text, re.IGNORECASE):
            return f"holds {found.group()!r}"
    return ""


@check
def length(workspace: Path, *, words: int) -> str:
    """At most so many words between blanks."""
    _enough(workspace)
    count = len(_text(workspace).split())
    return "" if count <= words else f"{count} words"


def _text(workspace: Path) -> str:
    with (workspace / NOTICE).open("rb") as file:
        return file.read(LIMIT).decode().removeprefix("\ufeff")


def _bullets(workspace: Path, section: str | None = None) -> list[Bullet]:
    found, heading = [], ""
    for line in _text(workspace).splitlines():
        if line.startswith("## "):
            heading = line[3:].strip()
        elif line.startswith("- "):
            found.append(Bullet(heading, line.rstrip()))
    return [bullet for bullet in found if section in (None, bullet.section)]


def _enough(workspace: Path) -> list[Bullet]:
    bullets = _bullets(workspace)
    if len(bullets) < LEAST_BULLETS:
        raise ValueError(f"{len(bullets)} bullets; a notice has at least {LEAST_BULLETS}")
    return bullets
