"""The scoreboard as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pytest_agentbench.flag import Flag
from pytest_agentbench.report.figures import (
    compact,
    duration,
    estimate,
    many,
    measure,
    number,
    span,
    value_of,
    wrap,
)
from pytest_agentbench.report.row import Row
from pytest_agentbench.report.scoreboard import Scoreboard
from pytest_agentbench.report.stopped_text import limit_lines
from pytest_agentbench.report.table import shorten, table
from pytest_agentbench.report.uncounted import uncounted_lines
from pytest_agentbench.report.view_text import view_columns, viewed
from pytest_agentbench.scenario.model import DIMENSIONS
from pytest_agentbench.scoring.draws import RESAMPLES, SEED
from pytest_agentbench.text import escape

#: Costly checks shown of all rows together.
_COSTLY = 8
#: Columns from which on there is room for figures that others nearly say.
_WIDE = 100
_ASCII = {
    "·": "/",
    "…": "...",
    "–": "-",
    "−": "-",
    "×": "x",
    "›": ">",
}
_BOLD, _RED, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[0m"

Column = tuple[str, Callable[[Row], str]]


def render(
    scoreboard: Scoreboard, *, width: int, color: bool = False, unicode: bool = True
) -> list[str]:
    """Lines of text, ``width`` columns where tables allow it, without a final line end.

    Text of an agent's is escaped. ``unicode=False`` keeps to ASCII.
    """
    rows = scoreboard.rows
    if not rows:
        return ["no trials were planned"]
    names = _names(rows)

    def tabled(title: str, columns: Sequence[Column]) -> list[str]:
        cells = [[cell(row) for _, cell in columns] for row in rows]
        named = list(zip(names, cells, strict=True))
        head, *body = table(title, [head for head, _ in columns], named, width)
        return ["", _bold(head), *body]

    lines = [
        *(line for pair in zip(names, rows, strict=True) for line in _about(*pair, width)),
        *(tabled("primary view first", view_columns(scoreboard)) if viewed(scoreboard) else ()),
        *tabled("score", _SCORE),
        *tabled("reliability", _reliability(rows, width)),
        *tabled("effort per trial", _effort(rows)),
        *_sections(scoreboard, width),
        *_dimensions(names, rows, width),
        *_faults(names, rows, width),
        *_costly(names, rows, width),
        *limit_lines(names, rows, width),
        *uncounted_lines(names, rows, width),
        *_notes(scoreboard, width),
    ]
    if not unicode:
        lines = [_ascii(line) for line in lines]
    if not color:
        lines = [line.replace(_BOLD, "").replace(_RED, "").replace(_PLAIN, "") for line in lines]
    return lines


def _names(rows: Sequence[Row]) -> list[str]:
    """Names of the rows, numbered where there are several, so that they can be cut."""
    if len(rows) == 1:
        return [escape(rows[0].name)]
    policies = {row.policy for row in rows}
    return [
        escape(f"{place} {row.name}{f' · {row.policy}' if len(policies) > 1 else ''}")
        for place, row in enumerate(rows, 1)
    ]


def _about(name: str, row: Row, width: int) -> list[str]:
    """What must be known of a row before any of its numbers is read."""
    facts = [
        f"{row.policy} scoring",
        f"{many(row.scenarios, 'scenario')} × {many(row.trials, 'trial')}",
    ]
    if row.scripted:
        facts.append("the model is a script, which shows nothing of any model")
    if row.replayed:
        facts.append("the model's answers are replayed from a recording")
    facts.append(_sandboxes(row))
    facts.extend(map(_label(row), row.labels))
    return wrap(f"{name}: {'; '.join(facts)}", width)


def _sandboxes(row: Row) -> str:
    if not row.sandboxes:
        return "no sandbox was used"
    if len(row.sandboxes) == 1:
        return f"sandbox {escape(next(iter(row.sandboxes)))}"
    parts = (f"{escape(name)} ({times})" for name, times in row.sandboxes.items())
    return "sandboxes " + ", ".join(parts)


def _label(row: Row) -> Callable[[str], str]:
    def shown(label: str) -> str:
        if label == "subset":
            covered = f"{100 * (row.covered_weight or 0):.0f} %"
            return f"subset: {len(row.dimensions)} of {len(DIMENSIONS)} dimensions, {covered} of the weight"
        if label == "tuned":
            times = many(row.flags.get(Flag.RERUN, 0), "trial")
            return f"tuned: {times} that had a score ran again on request"
        if label == "clean_after_rerun":
            return f"{label}: {many(row.reruns, 'trial')} needed another attempt"
        if label == "incomplete":
            return (
                f"{label}: {row.supported - row.graded} of {row.supported} trials without a score"
            )
        return label

    return shown


_SCORE: tuple[Column, ...] = (
    ("score [interval]", lambda r: f"{number(r.score)} {span(r.interval)}".strip()),
    ("lower", lambda r: number(r.lower)),
    ("capab.", lambda r: number(r.capability)),
    ("loose", lambda r: number(r.loose)),
    ("strict", lambda r: number(r.strict)),
)


def _reliability(rows: Sequence[Row], width: int) -> list[Column]:
    columns: list[Column] = [("pass@1", lambda r: estimate(r.pass_at.get(1)))]
    n = max(row.trials for row in rows)
    if n > 1:
        columns += [
            (f"pass@{n}", lambda r: estimate(r.pass_at.get(n))),
            (f"pass^{n}", lambda r: estimate(r.pass_all.get(n))),
            (f"strict^{n}", lambda r: number(value_of(r.strict_all.get(n)))),
        ]
        if width >= _WIDE:
            columns += [
                ("any", lambda r: number(r.any_passed.value)),
                ("all-k", lambda r: number(r.all_passed.value)),
            ]
    if any(row.final is not None for row in rows):
        columns.append(("Final", lambda r: number(r.final)))
    return columns


def _effort(rows: Sequence[Row]) -> list[Column]:
    columns: list[Column] = [
        ("graded", lambda r: f"{r.graded}/{r.supported}"),
        ("cover", lambda r: "–" if r.coverage is None else f"{100 * r.coverage:.0f} %"),
        ("errors", lambda r: str(sum(f.times for f in r.faults if f.counts != "skip"))),
    ]
    if any(row.unsupported for row in rows):
        columns.append(("skipped", lambda r: str(r.unsupported)))
    columns += [
        ("steps", lambda r: measure(r.steps, "{:.1f}".format)),
        ("calls", lambda r: measure(r.tool_calls, "{:.1f}".format)),
        ("tokens", lambda r: measure(r.tokens, compact)),
    ]
    if any(row.cost_usd.known for row in rows):
        columns.append(("cost", lambda r: measure(r.cost_usd, "${:.4f}".format)))
    columns.append(("time", lambda r: measure(r.seconds, duration)))
    return columns


def _sections(scoreboard: Scoreboard, width: int) -> Iterator[str]:
    """What few runs have; it is imported where there is something to say."""
    if scoreboard.skills:
        from pytest_agentbench.report.skill_text import skill_lines

        yield from skill_lines(scoreboard, width, _bold)
    if scoreboard.rubrics:
        from pytest_agentbench.report.rubric_tables import rubric_lines

        yield from rubric_lines(scoreboard, width, _bold)


def _dimensions(names: Sequence[str], rows: Sequence[Row], width: int) -> list[str]:
    present = [d for d in DIMENSIONS if any(d == x.name for row in rows for x in row.dimensions)]
    if not present:
        return []
    lines: list[tuple[str, list[str]]] = []
    for name, row in zip(names, rows, strict=True):
        found = {d.name: d for d in row.dimensions}
        cells = [found.get(d) for d in present]
        if found:
            lines += [
                (name, [number(d.score if d else None) for d in cells]),
                ("  pass@1", [number(d.pass_at_1 if d else None) for d in cells]),
                ("  trials", [str(d.graded) if d else "–" for d in cells]),
            ]
    head, *body = table(
        "score by dimension", [d.replace("error_", "") for d in present], lines, width
    )
    return ["", _bold(head), *body]


def _faults(names: Sequence[str], rows: Sequence[Row], width: int) -> list[str]:
    lines: list[str] = []
    for name, row in zip(names, rows, strict=True):
        for fault in row.faults:
            text = f"{fault.times} × {fault.status} ({fault.counts})"
            if fault.message:
                text += f": {escape(' '.join(fault.message.split()))}"
            lines += map(_red, wrap(f"{name}: {text}", width))
    title = "trials without a score, and why (first message of each kind)"
    return ["", _bold(title), *lines] if lines else []


def _costly(names: Sequence[str], rows: Sequence[Row], width: int) -> list[str]:
    lines = []
    most = max(2, _COSTLY // len(rows))
    for name, row in zip(names, rows, strict=True):
        if row.costly and len(rows) > 1:
            lines.append(shorten(name, width))
        for check in row.costly[:most]:
            kind = f" ({check.category}, {check.severity})" if check.category == "safety" else ""
            text = f"  −{check.lost:.3f}  {escape(check.scenario)} › {escape(check.check)}{kind}"
            lines.append(
                shorten(f"{text}, in {check.times} of {many(check.trials, 'trial')}", width)
            )
            if check.detail:
                lines.append(shorten(f"          {escape(check.detail)}", width))
    title = "failed checks that cost most (part of the overall score)"
    return ["", _bold(title), *lines] if lines else []


def _notes(scoreboard: Scoreboard, width: int) -> list[str]:
    rows = scoreboard.rows
    intervals = f"Wilson, or {RESAMPLES} resamples with seed {SEED}"
    meaning = (
        "score: over graded trials; lower: every other supported trial counts as 0; intervals: "
        f"95 %, over scenarios, families kept together ({intervals})"
    )
    named = zip(_names(rows), rows, strict=True)
    notes = [meaning, *(_left_out(name, row) for name, row in named if _too_few(row))]
    if any(0 < r.tokens.known < r.tokens.trials for r in rows):
        notes.append("* mean of those trials only for which it is known; ? is unknown, not 0")
    elif any(r.graded and not r.tokens.known for r in rows):
        notes.append("? is unknown, not 0")
    flags = [f"{escape(flag)} ({times})" for r in rows for flag, times in r.flags.items()]
    if flags:
        notes.append("flags: " + ", ".join(dict.fromkeys(flags)))
    if scoreboard.strays:
        notes.append(
            f"{many(scoreboard.strays, 'record')} of trials that are not planned (any more): "
            "counted nowhere"
        )
    return ["", *(line for note in notes for line in wrap(note, width))]


def _too_few(row: Row) -> bool:
    found = row.pass_at.get(row.trials)
    return found is not None and found.left_out > 0


def _left_out(name: str, row: Row) -> str:
    found, n = row.pass_at[row.trials], row.trials
    return (
        f"{name}: pass@{n} and pass^{n} leave out {found.left_out} of "
        f"{many(found.left_out + found.scenarios, 'scenario')}, with fewer than {n} graded trials"
    )


def _bold(text: str) -> str:
    return f"{_BOLD}{text}{_PLAIN}"


def _red(text: str) -> str:
    return f"{_RED}{text}{_PLAIN}"


def _ascii(line: str) -> str:
    for character, plain in _ASCII.items():
        line = line.replace(character, plain)
    return line.encode("ascii", "backslashreplace").decode()
