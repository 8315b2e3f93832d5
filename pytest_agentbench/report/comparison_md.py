"""A comparison and its verdict as Markdown, for the summary of a CI job."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from pytest_agentbench.report.comparison import RowComparison
from pytest_agentbench.report.comparison_text import (
    detectable_text,
    difference_text,
    fact_lines,
    finding_line,
    note_lines,
)
from pytest_agentbench.report.verdict import Result, Verdict
from pytest_agentbench.scoring.movers import Mover
from pytest_agentbench.text import escape

#: Rows of a table of movers; GitHub cuts summaries beyond 1 MiB.
_ROWS = 50
_TITLES = {
    Result.PASS: "Gate: pass",
    Result.REGRESSION: "Gate: regression",
    Result.INCONCLUSIVE: "Gate: inconclusive",
}
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$@:])")


def markdown(verdict: Verdict) -> str:
    """A document of its own; what scenarios and agents named is text in it and no markup."""
    lines = [f"## {_TITLES[verdict.result]}", ""]
    lines += [f"- **broken** {plain(finding_line(f, 'allowed'))}" for f in verdict.broken]
    lines += [f"- not settled: {plain(finding_line(f, 'needed'))}" for f in verdict.doubts]
    for row in verdict.comparison.rows:
        lines += ["", f"### {plain(escape(row.name))}", "", *_row(row)]
    lines += ["", *(f"- {plain(note)}" for note in note_lines(verdict))]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """``text`` such that Markdown shows it as it is: no link, mention, image or tag in it."""
    return html.escape(_SPECIAL.sub(r"\\\1", escape(text, 2_000)), quote=False)


def _row(row: RowComparison) -> Iterator[str]:
    score, passed = row.score, row.passed
    if score is not None and passed is not None and row.detectable is not None:
        yield f"- score: {plain(difference_text(score))}"
        yield f"- pass\\@1: {plain(difference_text(passed))}"
        yield f"- {plain(detectable_text(row.detectable, score, row.after.trials))}"
    for fact in fact_lines(row):
        yield f"- {plain(fact)}"
    moved = [mover for mover in row.scenarios if mover.change]
    yield from _table("scenario", sorted(moved, key=lambda m: (m.share, m.name)))
    yield from _table("dimension", row.dimensions)


def _table(title: str, movers: Iterable[Mover]) -> Iterator[str]:
    found = list(movers)
    if not found:
        return
    yield ""
    yield f"| {title} | before | now | part of the change | trials | p (Holm) |"
    yield "|---|---:|---:|---:|---:|---:|"
    for m in found[:_ROWS]:
        star = " \\*" if m.clear else ""
        before, now = m.trials
        yield (
            f"| {plain(m.name)}{star} | {m.before:.3f} | {m.after:.3f} | {m.share:+.4f} | "
            f"{before} and {now} | {m.adjusted:.3f} |"
        )
    if len(found) > _ROWS:
        yield ""
        yield f"and {len(found) - _ROWS} more"
