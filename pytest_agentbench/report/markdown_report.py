"""Markdown for people who read a run in CI, such as GitHub's ``$GITHUB_STEP_SUMMARY``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

from pytest_agentbench.report.figures import compact, duration, many, measure, number, span
from pytest_agentbench.report.flat import status_of
from pytest_agentbench.report.reader import RunReader
from pytest_agentbench.report.row import Row
from pytest_agentbench.report.tally import Tally
from pytest_agentbench.text import escape

#: Bytes that GitHub takes of a step, less room for what others write to the same summary.
LIMIT = (1 << 20) - (64 << 10)
#: Rows of a table, failed trials that are named, and characters of a text and of a sentence.
_ROWS, _TRIALS, _TEXT, _SENTENCE = 100, 200, 200, 600
_MARKUP = re.compile(r"(?!: )[^\w\s,;%/=+\-–−.×…·›'\"()?]|_|(?<=www)\.")
Column = tuple[str, Callable[[int, Row], str]]


def write(run: RunReader, out: BinaryIO) -> None:
    """The scoreboard first, then what differs most; as much as fits in 1 MiB.

    Raises ``RunError``.
    """
    room = LIMIT
    for part in sections(run):
        data = part.encode("utf-8", "backslashreplace")
        if len(data) > room:
            out.write(b"\n*More would not fit here: `agentbench report` prints all of it.*\n")
            return
        out.write(data)
        room -= len(data)


def sections(run: RunReader) -> Iterator[str]:
    """Parts of the page, each of which makes sense where the next one is left out."""
    board = run.scoreboard()
    rows, profile = board.rows, run.plan.profile
    yield f"## Agent benchmark{f': {shown(profile)}' if profile else ''}\n\n"
    if not rows:
        yield "No trials were planned.\n"
        return
    several = len({row.policy for row in rows}) > 1
    yield _table((*_SCORES, _SCORING) if several else _SCORES, rows)
    named = dict.fromkeys(label for row in rows for label in row.labels)
    yield (
        "\nScore over graded trials, with its 95 % interval over scenarios; lower: every other "
        "supported trial counts as 0. Faults of harness and provider are no scores. "
        f"Labels: {', '.join(map(shown, named))}.\n"
    )
    if board.skills:
        from pytest_agentbench.report.skill_markdown import skill_section  # not of every run

        yield "".join(skill_section(board, _sentence))
    if board.rubrics:
        from pytest_agentbench.report.rubric_tables import rubric_section  # nor this

        yield "".join(rubric_section(board, _sentence))
    yield from _movers(rows, run.tallies())
    yield from _dimensions(rows)
    yield from _faults(rows)
    yield from _costly(rows)
    yield from _families(rows)
    yield from _failed(run)


def shown(text: str, limit: int = _TEXT) -> str:
    """One line in which nothing is markup, a link, a mention or an emoji, in a table or outside."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", escape(" ".join(text.split()), limit))


def _sentence(text: str) -> str:
    """A text of ours, in which names of modes may be hostile."""
    return shown(text, _SENTENCE)


def _name(place: int, row: Row) -> str:
    return f"{place + 1} {shown(row.name)}"


_SCORING: Column = ("scoring", lambda _, r: shown(r.policy))
_SCORES: tuple[Column, ...] = (
    ("row", _name),
    ("score", lambda _, r: f"**{number(r.score)}** {span(r.interval)}"),
    ("lower", lambda _, r: number(r.lower)),
    ("pass@1", lambda _, r: number(r.pass_at[1].value if 1 in r.pass_at else None)),
    (
        "pass^n",
        lambda _, r: (
            f"{number(r.pass_all[r.trials].value)} (n = {r.trials})"
            if r.trials in r.pass_all
            else "–"
        ),
    ),
    ("strict", lambda _, r: number(r.strict)),
    ("graded", lambda _, r: f"{r.graded} of {r.supported}"),
    ("tokens", lambda _, r: measure(r.tokens, compact)),
    ("cost", lambda _, r: measure(r.cost_usd, "${:.4f}".format)),
    ("time", lambda _, r: measure(r.seconds, duration)),
)


def _movers(rows: Sequence[Row], tallies: Sequence[Tally]) -> Iterator[str]:
    """Scenarios whose score differs most between rows of the same policy."""
    found: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for place, (row, tally) in enumerate(zip(rows, tallies, strict=True)):
        for each in tally.scenarios():
            key = (row.policy, each.facts.id)
            found.setdefault(key, []).append((each.mean("score"), place))
    moved = [
        (round(max(scores)[0] - min(scores)[0], 12), scenario, min(scores), max(scores))
        for (_, scenario), scores in found.items()
        if len(scores) > 1 and max(scores)[0] > min(scores)[0]
    ]
    moved.sort(key=lambda mover: (-mover[0], mover[1]))
    if moved:
        yield "\n### Scenarios that differ most between rows\n\n"
        yield _lines("scenario | difference | lowest | highest").replace(
            "\n", "\n|---|---|---|---|\n"
        )
        for change, scenario, low, high in moved[:20]:
            yield _lines(
                f"{shown(scenario)} | {change:.3f} | {low[0]:.3f} (row {low[1] + 1}) | "
                f"{high[0]:.3f} (row {high[1] + 1})"
            )


def _dimensions(rows: Sequence[Row]) -> Iterator[str]:
    names = list(dict.fromkeys(d.name for row in rows for d in row.dimensions))
    if names:

        def column(name: str) -> Column:
            def of(_: int, row: Row) -> str:
                return next((number(d.score) for d in row.dimensions if d.name == name), "–")

            return (shown(name), of)

        yield "\n### Dimensions\n\n" + _table((("row", _name), *map(column, names)), rows)


def _faults(rows: Sequence[Row]) -> Iterator[str]:
    lines = [
        f"- row {place}: {fault.times} × {shown(fault.status)} ({shown(fault.counts)})"
        + (f": {shown(fault.message)}" if fault.message else "")
        for place, row in enumerate(rows, 1)
        for fault in row.faults
    ]
    yield from _list("Trials without a score", lines)


def _costly(rows: Sequence[Row]) -> Iterator[str]:
    most = max(3, 20 // len(rows))
    lines = [
        f"- row {place}: −{check.lost:.3f} {shown(check.scenario)} › {shown(check.check)}, in "
        f"{check.times} of {many(check.trials, 'trial')}"
        + (f": {shown(check.detail)}" if check.detail else "")
        for place, row in enumerate(rows, 1)
        for check in row.costly[:most]
    ]
    yield from _list("Failed checks that cost most", lines)


def _families(rows: Sequence[Row]) -> Iterator[str]:
    lines = [
        f"- row {place}: "
        + "; ".join(f"{shown(family.name)} {family.checks}" for family in row.families)
        for place, row in enumerate(rows, 1)
        if row.families
    ]
    yield from _list("Failed checks by family", lines)


def _failed(run: RunReader) -> Iterator[str]:
    """The trials that did not pass, the first of them by name."""
    lines: list[str] = []
    more = 0
    for trial, record in run.pairs():
        if record is not None and record.passed:
            continue
        if len(lines) == _TRIALS:
            more += 1
            continue
        status = status_of(record)
        graded = record is not None and record.graded and record.grade is not None
        said = number(record.grade.score) if graded and record and record.grade else status.value
        lines.append(f"- {shown(trial.node_id.rpartition('::')[2])}: {shown(said)}")
    if lines:
        yield "\n<details><summary>Trials that did not pass</summary>\n\n"
        yield "\n".join(lines) + "\n"
        yield f"\nand {more} more\n" if more else ""
        yield "\n</details>\n"


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"\n### {title}\n\n" + "\n".join(lines[:_ROWS]) + "\n"
        if len(lines) > _ROWS:
            yield f"\nand {len(lines) - _ROWS} more\n"


def _table(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    lines = [" | ".join(head for head, _ in columns)]
    lines += [
        " | ".join(cell(place, row) for _, cell in columns)
        for place, row in enumerate(rows[:_ROWS])
    ]
    head, *body = map(_lines, lines)
    more = f"\nand {many(len(rows) - _ROWS, 'row')} more\n" if len(rows) > _ROWS else ""
    return head + "|" + "---|" * len(columns) + "\n" + "".join(body) + more


def _lines(cells: str) -> str:
    return f"| {cells} |\n"
