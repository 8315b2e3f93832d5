"""Modes against the baseline as tables of short texts, for terminals and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_agentbench.report.figures import number, signed
from pytest_agentbench.report.row import Row
from pytest_agentbench.report.skill_comparison import SkillComparison
from pytest_agentbench.report.skill_effort import ResourceComparison
from pytest_agentbench.scoring.paired import TAIL, Difference
from pytest_agentbench.scoring.skill_cost import REUSES, BreakEven, PerMillion, Ratio

Column = tuple[str, Callable[[SkillComparison], str]]
_SHOWN = {"tokens": "tokens", "cost_usd": "cost", "seconds": "time"}

_LEVEL = f"{100 * (1 - 2 * TAIL):.0f} %"
_USES = ", ".join(map(str, REUSES))
_NOTES = (
    (
        f"against the baseline of the same runtime and model; intervals: {_LEVEL}, paired by scenario, "
        "families kept together; R: the score over that of the baseline; points/Mtok: points of 100 "
        "gained, for each million tokens more"
    ),
    (
        "effort: the baseline's over the mode's, of the graded run alone / of all runs of a trial: above "
        "1 the mode takes less; break-even: uses after which tokens, cost, time are no more than those "
        "of direct runs; * of those scenarios alone for which it is known; ? is unknown, not 0"
    ),
)
_NOTE_STAGED = (
    f"after {_USES} uses: all that a skill took, over as many direct runs: below 1 it pays"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillTable:
    """A table with a head for each cell, and rows of a name and cells."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def skill_names(rows: Sequence[Row], skills: Sequence[SkillComparison]) -> list[str]:
    """The number of each one's row and its mode, with runtime and model where these differ."""
    place = {(r.runtime, r.model, r.mode, r.policy): n for n, r in enumerate(rows, 1)}
    alike = len({(row.runtime, row.model, row.policy) for row in rows}) == 1
    names = []
    for each in skills:
        parts = (each.mode,) if alike else (each.runtime, each.model, each.mode)
        number = place[each.runtime, each.model, each.mode, each.policy]
        names.append(f"{number} {' · '.join(filter(None, parts))}")
    return names


def skill_tables(names: Sequence[str], skills: Sequence[SkillComparison]) -> Iterator[SkillTable]:
    """Tables of those to which they say something."""
    for title, columns, told in _TABLES:
        kept = [(name, each) for name, each in zip(names, skills, strict=True) if told(each)]
        if kept:
            yield SkillTable(
                title=title,
                heads=tuple(head for head, _ in columns),
                rows=tuple((name, tuple(cell(each) for _, cell in columns)) for name, each in kept),
            )


def skill_notes(skills: Sequence[SkillComparison]) -> tuple[str, ...]:
    """What the figures of the tables mean."""
    return (*_NOTES, _NOTE_STAGED) if any(map(_staged, skills)) else _NOTES


def change(found: Difference | None) -> str:
    """A change with its interval."""
    if found is None:
        return "–"
    span = found.interval
    return signed(found.change) + (f" [{signed(span.low)}, {signed(span.high)}]" if span else "")


def ratio_text(value: Ratio) -> str:
    if value is None:
        return "?"
    return "inf" if value == "infinite" else f"{value:.2f}"


def _before(found: Difference | None) -> str:
    return number(found.before if found else None)


def _after(found: Difference | None) -> str:
    return number(found.after if found else None)


def _pairs(each: SkillComparison) -> str:
    found = len(each.scenarios)
    return f"{found} of {found + each.left_out}"


def _effort(name: str) -> Column:
    def cell(each: SkillComparison) -> str:
        found = each.resources.get(name, ResourceComparison())
        parts = f"{ratio_text(found.execution)} / {ratio_text(found.end_to_end)}"
        known = min(found.scenarios, found.whole_scenarios)
        return parts + "*" * (0 < known < len(each.scenarios))

    return _SHOWN[name], cell


def _break_even(each: SkillComparison) -> str:
    def shown(value: BreakEven) -> str:
        return "?" if value is None else str(value)

    return ", ".join(shown(found.break_even) for found in each.resources.values())


def _points(each: SkillComparison) -> str:
    value: PerMillion = each.points_per_million
    return "?" if value is None else value if isinstance(value, str) else f"{value:+.1f}"


def _amortised(name: str) -> Column:
    def cell(each: SkillComparison) -> str:
        found = each.resources[name].amortised
        return " ".join(ratio_text(found.get(uses)) for uses in REUSES)

    return _SHOWN[name], cell


def _made(each: SkillComparison) -> str:
    made = each.made
    return f"{made.skills} in {made.with_skill} of {made.trials}" if made else "–"


def _seen(name: str) -> Column:
    def cell(each: SkillComparison) -> str:
        given = each.given
        if given is None:
            return "–"
        return f"{getattr(given, name)} of {given.known}" if given.known else "?"

    return name, cell


def _staged(each: SkillComparison) -> bool:
    return any(found.amortised for found in each.resources.values())


_TABLES: tuple[tuple[str, tuple[Column, ...], Callable[[SkillComparison], object]], ...] = (
    (
        "skills: score",
        (
            ("skill", lambda s: s.kind),
            ("without", lambda s: _before(s.score)),
            ("with", lambda s: _after(s.score)),
            ("gain [interval]", lambda s: change(s.score)),
            ("R", lambda s: ratio_text(s.ratio)),
            ("pairs", _pairs),
        ),
        lambda s: True,
    ),
    (
        "skills: checks",
        (
            ("loose", lambda s: _before(s.loose)),
            ("with", lambda s: _after(s.loose)),
            ("gain [interval]", lambda s: change(s.loose)),
            ("strict", lambda s: _before(s.strict)),
            ("with", lambda s: _after(s.strict)),
            ("gain [interval]", lambda s: change(s.strict)),
        ),
        lambda s: s.score,
    ),
    (
        "skills: effort",
        (
            *(_effort(name) for name in _SHOWN),
            ("break-even", lambda s: _break_even(s) if _staged(s) else "–"),
            ("points/Mtok", _points),
        ),
        lambda s: s.resources,
    ),
    (
        f"skills: after {_USES} uses",
        tuple(_amortised(name) for name in _SHOWN),
        _staged,
    ),
    (
        "skills: second run over first",
        (
            ("first", lambda s: _before(s.first_to_second)),
            ("second", lambda s: _after(s.first_to_second)),
            ("gain [interval]", lambda s: change(s.first_to_second)),
            ("ratio", lambda s: ratio_text(s.first_to_second_ratio)),
        ),
        lambda s: s.first_to_second,
    ),
    (
        "skills: made and used",
        (
            ("made", _made),
            ("quality", lambda s: number(s.made.quality if s.made else None)),
            *(_seen(name) for name in ("shown", "opened", "used")),
            ("changed", lambda s: f"{s.violations.mutated} of {s.violations.guarded}"),
            ("wrote", lambda s: str(s.violations.wrote)),
        ),
        lambda s: s.made or s.given or s.violations.samples,
    ),
)
