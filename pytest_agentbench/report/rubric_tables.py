"""Rubric scores as tables of short texts, for terminals and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pytest_agentbench.report.figures import compact, many, number, wrap
from pytest_agentbench.report.row import Row
from pytest_agentbench.report.rubric_rows import CategoryRow, RubricRow
from pytest_agentbench.report.scoreboard import Scoreboard
from pytest_agentbench.report.skill_tables import SkillTable, change
from pytest_agentbench.report.table import table
from pytest_agentbench.scenario.rubric import TOPICS
from pytest_agentbench.text import escape

Column = tuple[str, Callable[[RubricRow], str]]
NOTE = (
    "rubrics: means over scenarios of eq. 3: loose is the share of criteria that hold, strict whether "
    "all do; process only where the agent had a skill; gains: completion over that of the baseline "
    "(intervals: 90 %, paired by scenario); categories: weighted levels, loose / strict"
)


def rubric_tables(rows: Sequence[Row], rubrics: Sequence[RubricRow]) -> Iterator[SkillTable]:
    """What there is to show: scores, gains over the baseline, categories."""
    named = list(zip(_names(rows, rubrics), rubrics, strict=True))
    yield _table("rubrics", _SCORES, named)
    gains = [(name, each) for name, each in named if each.loose_gain is not None]
    if gains:
        yield _table("completion gained", _GAINS, gains)
    topics = [
        t for t in TOPICS if any(t == c.category for each in rubrics for c in each.categories)
    ]
    columns = [(TOPICS[topic].title, _category(topic)) for topic in topics]
    if columns:
        yield _table("rubric categories", columns, named)


def rubric_lines(scoreboard: Scoreboard, width: int, bold: Callable[[str], str]) -> Iterator[str]:
    """The tables for a terminal, with ``bold`` heads; text is escaped."""
    if not _decided_any(scoreboard.rubrics):
        yield from ("", *wrap(_undecided(scoreboard.rubrics), width))
        return
    for each in rubric_tables(scoreboard.rows, scoreboard.rubrics):
        named = [(escape(name), cells) for name, cells in each.rows]
        head, *body = table(each.title, each.heads, named, width)
        yield from ("", bold(head), *body)
    yield from _missed_lines(scoreboard, width, bold)
    yield ""
    for told in _told(scoreboard.rubrics):
        yield from wrap(told, width)
    yield from wrap(NOTE, width)


def _missed_lines(scoreboard: Scoreboard, width: int, bold: Callable[[str], str]) -> Iterator[str]:
    if not any(each.missed for each in scoreboard.rubrics):
        return
    yield from ("", bold("criteria missed most"))
    names = _names(scoreboard.rows, scoreboard.rubrics)
    for name, each in zip(names, scoreboard.rubrics, strict=True):
        told = [
            f"{escape(m.scenario, 60)} › {escape(m.criterion, 60)} ({m.missed} of {m.trials})"
            for m in each.missed
        ]
        if told:
            yield from wrap(f"{escape(name)}: {', '.join(told)}", width)


def rubric_section(scoreboard: Scoreboard, shown: Callable[[str], str]) -> Iterator[str]:
    """The tables as Markdown; ``shown`` makes a text harmless."""
    yield "\n### Rubrics\n"
    if not _decided_any(scoreboard.rubrics):
        yield f"\n{shown(_undecided(scoreboard.rubrics))}\n"
        return
    for each in rubric_tables(scoreboard.rows, scoreboard.rubrics):
        yield f"\n| {each.title} | {' | '.join(each.heads)} |\n|---|" + "---:|" * len(each.heads)
        for name, cells in each.rows:
            yield f"\n| {shown(name)} | {' | '.join(cells)} |"
        yield "\n"
    for told in (*_told(scoreboard.rubrics), f"{NOTE[0].upper()}{NOTE[1:]}"):
        yield f"\n{shown(told)}.\n"


def _decided_any(rubrics: Sequence[RubricRow]) -> bool:
    return any(each.scenarios for each in rubrics)


def _undecided(rubrics: Sequence[RubricRow]) -> str:
    trials = sum(each.trials for each in rubrics)
    lacking = _lacking(rubrics)
    why = f": {escape(lacking.message)}" if lacking else "; --judge=NAME asks a judge"
    return f"rubrics: none of {trials} trials has all verdicts on completion{why}"


def _lacking(rubrics: Sequence[RubricRow]) -> RubricRow | None:
    """The first in which a judge was asked and gave no verdict."""
    return next((each for each in rubrics if each.judges and each.message), None)


def _table(
    title: str, columns: Sequence[Column], named: Sequence[tuple[str, RubricRow]]
) -> SkillTable:
    rows = tuple((name, tuple(cell(each) for _, cell in columns)) for name, each in named)
    return SkillTable(title=title, heads=tuple(head for head, _ in columns), rows=rows)


def _names(rows: Sequence[Row], rubrics: Sequence[RubricRow]) -> list[str]:
    place = {(r.runtime, r.model, r.mode, r.policy): n for n, r in enumerate(rows, 1)}
    names = []
    for each in rubrics:
        number = place[each.runtime, each.model, each.mode, each.policy]
        name = " · ".join(filter(None, (each.runtime, each.model, each.mode)))
        names.append(f"{number} {name}" if len(rows) > 1 else name)
    return names


def _told(rubrics: Sequence[RubricRow]) -> Iterator[str]:
    judges = list(dict.fromkeys(name for each in rubrics for name in each.judges))
    if judges:
        spent = [each.judge_tokens for each in rubrics if each.judges]
        known = [tokens for tokens in spent if tokens is not None]
        tokens = compact(sum(known)) if len(known) == len(spent) else "?"
        yield f"judged by {', '.join(escape(name, 60) for name in judges)}: {tokens} tokens"
    lacking = _lacking(rubrics)
    if lacking is not None:
        yield f"not all verdicts in {many(lacking.undecided, 'trial')}: {escape(lacking.message)}"


def _category(topic: str) -> Callable[[RubricRow], str]:
    def cell(row: RubricRow) -> str:
        found: CategoryRow | None = next((c for c in row.categories if c.category == topic), None)
        return "–" if found is None else f"{found.loose:.3f} / {found.strict:.3f}"

    return cell


def _decided(row: RubricRow) -> str:
    return f"{row.trials - row.undecided} of {row.trials}"


def _mean(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


_SCORES: tuple[Column, ...] = (
    ("completion loose", lambda r: number(r.completion_loose)),
    ("strict", lambda r: number(r.completion_strict)),
    ("process loose", lambda r: number(r.process_loose)),
    ("strict", lambda r: number(r.process_strict)),
    ("gated", lambda r: number(r.gated)),
    ("decided", _decided),
    ("steps", lambda r: _mean(r.steps)),
    ("calls", lambda r: _mean(r.tool_calls)),
)
_GAINS: tuple[Column, ...] = (
    ("loose", lambda r: change(r.loose_gain)),
    ("strict", lambda r: change(r.strict_gain)),
)
