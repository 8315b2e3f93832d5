"""Modes against the baseline as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pytest_agentbench.report.scoreboard import Scoreboard
from pytest_agentbench.report.skill_tables import skill_names, skill_notes, skill_tables

#: Modes of a table, lines that say what data support, and violations that are told.
_ROWS = 100


def skill_section(scoreboard: Scoreboard, shown: Callable[[str], str]) -> Iterator[str]:
    """What the data support first, then the tables; ``shown`` makes a text harmless."""
    skills = scoreboard.skills[:_ROWS]
    names = [shown(name) for name in skill_names(scoreboard.rows, skills)]
    yield "\n### Skills\n\n"
    for name, skill in zip(names, skills, strict=True):
        if skill.attribution is not None:
            yield f"- {name}: {shown(skill.attribution.sentence)}\n"
        for told in skill.violations.samples:
            yield f"- {name}: violation in {shown(told)}\n"
    if len(scoreboard.skills) > _ROWS:
        yield f"\nand {len(scoreboard.skills) - _ROWS} more\n"
    for table in skill_tables(names, skills):
        yield f"\n{_line(table.title, table.heads)}|---|" + "---:|" * len(table.heads) + "\n"
        yield "".join(_line(name, cells) for name, cells in table.rows)
    yield "\n" + " \n".join(f"{note[0].upper()}{note[1:]}." for note in skill_notes(skills)) + "\n"


def _line(name: str, cells: tuple[str, ...]) -> str:
    return f"| {' | '.join((name, *cells))} |\n"
