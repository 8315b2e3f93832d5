"""Modes against the baseline as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pytest_agentbench.report.figures import wrap
from pytest_agentbench.report.scoreboard import Scoreboard
from pytest_agentbench.report.skill_tables import skill_names, skill_notes, skill_tables
from pytest_agentbench.report.table import table
from pytest_agentbench.text import escape


def skill_lines(scoreboard: Scoreboard, width: int, bold: Callable[[str], str]) -> Iterator[str]:
    """Tables with ``bold`` heads, then what the data support, then what agents did to skills; text is escaped."""
    skills = scoreboard.skills
    names = [escape(name) for name in skill_names(scoreboard.rows, skills)]
    for each in skill_tables(names, skills):
        head, *body = table(each.title, each.heads, each.rows, width)
        yield from ("", bold(head), *body)
    yield ""
    for name, skill in zip(names, skills, strict=True):
        if skill.attribution is not None:
            yield from wrap(f"{name}: {escape(skill.attribution.sentence)}", width)
        for told in skill.violations.samples:
            yield from wrap(f"{name}: violation in {escape(told)}", width)
    for note in skill_notes(skills):
        yield from wrap(note, width)
