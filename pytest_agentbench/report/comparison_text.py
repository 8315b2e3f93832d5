"""A comparison and its verdict as lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_agentbench.report.comparison import RowComparison
from pytest_agentbench.report.figures import many, signed
from pytest_agentbench.report.label import Label
from pytest_agentbench.report.verdict import Finding, Result, Verdict
from pytest_agentbench.scoring.detectable import Detectable
from pytest_agentbench.scoring.movers import Mover
from pytest_agentbench.scoring.paired import Difference
from pytest_agentbench.text import escape

#: Scenarios that are named in each direction, and of each fact.
_NAMED = 8
_INDENT = "  "


def render(verdict: Verdict, *, width: int) -> list[str]:
    """The verdict first, then each row; lines of at most ``width`` columns where words allow it."""
    lines = list(verdict_lines(verdict))
    for row in verdict.comparison.rows:
        lines += ["", f"{escape(row.name)} ({row.policy} scoring)"]
        lines += [_INDENT + line for line in row_lines(row)]
    lines += ["", *note_lines(verdict)]
    return [piece for line in lines for piece in _wrapped(line, width)]


def _wrapped(line: str, width: int) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line.strip(),
        width,
        initial_indent=indent,
        subsequent_indent=indent + _INDENT,
        break_on_hyphens=False,
    ) or [""]


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """The result with its exit code, then each rule that is broken or in doubt."""
    yield f"{_result(verdict)} (exit code {verdict.exit_code})"
    for finding in verdict.broken:
        yield _INDENT + finding_line(finding, "allowed")
    for finding in verdict.doubts:
        yield _INDENT + "not settled: " + finding_line(finding, "needed")


def _result(verdict: Verdict) -> str:
    if verdict.result is Result.PASS:
        return "pass: no rule is broken, and no drop that the rules ask for is left possible"
    if verdict.result is Result.REGRESSION:
        return f"regression: {many(len(verdict.broken), 'finding')} against the rules"
    return "inconclusive: no rule is broken, as far as this can be told"


def finding_line(finding: Finding, word: str) -> str:
    row = f"{finding.row}: " if finding.row else ""
    return escape(f"{row}{finding.rule}: {finding.found}; {word}: {finding.allowed}", 600)


def row_lines(row: RowComparison) -> Iterator[str]:
    """Figures of a row, what moved, what could be detected, and what is not alike."""
    score, passed = row.score, row.passed
    if score is not None and passed is not None and row.detectable is not None:
        yield f"score   {difference_text(score)}"
        yield f"pass@1  {difference_text(passed)}"
        yield _counts(row, score)
        yield from _moved(row)
        yield detectable_text(row.detectable, score, row.after.trials)
    yield from fact_lines(row)


def difference_text(found: Difference) -> str:
    span = "no interval, as all scenarios are of one family"
    if found.scenarios == 1:
        span = "no interval, as there is one scenario"
    if found.interval is not None:
        percent = f"{100 * found.interval.level:.3g} %"
        span = f"[{signed(found.interval.low)}, {signed(found.interval.high)}] ({percent})"
    return f"{found.before:.3f} → {found.after:.3f}, change {signed(found.change)} {span}"


def _counts(row: RowComparison, score: Difference) -> str:
    text = f"compared: {many(score.scenarios, 'scenario')}"
    if score.clusters < score.scenarios:
        text += f", which count as {score.clusters}, since those of a family change together"
    pairs = row.mcnemar
    if pairs is not None:
        text += (
            f"; all trials pass in {pairs.both} on both sides, in {pairs.lost} only before, in "
            f"{pairs.gained} only now, in {pairs.neither} on neither (McNemar p {pairs.p:.3f})"
        )
    return text


def _moved(row: RowComparison) -> Iterator[str]:
    down = [m for m in row.scenarios if m.change < 0]
    up = [m for m in reversed(row.scenarios) if m.change > 0]
    for title, found in (("down", down), ("up", up)):
        if found:
            yield f"{title}: {_listed([mover_text(m) for m in found])}"
    dimensions = [m for m in row.dimensions if m.change]
    if dimensions:
        yield f"dimensions: {_listed([mover_text(m) for m in dimensions])}"
    if (down or up) and any(m.clear for m in (*row.scenarios, *row.dimensions)):
        yield "* clear by itself, however many were looked at (Holm)"


def mover_text(mover: Mover) -> str:
    star = "*" if mover.clear else ""
    return f"{escape(mover.name)}{star} {mover.before:.2f} → {mover.after:.2f}"


def detectable_text(found: Detectable, score: Difference, trials: int) -> str:
    """What this comparison could have told, and what it takes to tell what was asked."""
    chance = f"{100 * found.power:.0f} %"
    if found.drop is None:
        reason = (
            "nothing varied" if score.clusters > 1 and score.error < 1e-9 else "too few scenarios"
        )
        return f"which drop this comparison could have detected is not known: {reason}"
    text = (
        f"a drop of {found.drop:.3f} or more would have been detected in {chance} of comparisons "
        f"like this; asked for: {found.asked:.3f}"
    )
    if found.enough or found.scenarios is None:
        return text
    more = f", which takes {found.scenarios} scenarios such as these {score.scenarios}"
    if found.trials is not None:
        return f"{text}{more}, or {many(found.trials, 'trial')} of each in both runs (now {trials})"
    return f"{text}{more}; more trials of each would not do alone"


def fact_lines(row: RowComparison) -> Iterator[str]:
    """What is not alike on both sides, each as a fact and none as a score of 0."""
    for side, when in ((row.before, "before"), (row.after, "now")):
        if side.lost:
            yield f"trials without a score {when}: {_statuses(side.lost)}"
    if row.unscored:
        unscored = [
            f"{escape(u.scenario)} (before {_statuses(u.before)}; now {_statuses(u.after)})"
            for u in row.unscored
        ]
        yield f"not compared, as no trial has a score on one side: {_listed(unscored)}"
    for names, when in ((row.only_before, "before"), (row.only_after, "now")):
        if names:
            yield f"planned only {when}: {_listed([escape(name) for name in names])}"
    if row.changed:
        changed = [f"{escape(c.scenario)} ({', '.join(c.parts)})" for c in row.changed]
        yield (
            "compared although changed in between, so that the change may be theirs: "
            f"{_listed(changed)}"
        )
    if row.profiles:
        yield f"the profile of the {' and of the '.join(row.profiles)} is not the one of before"
    if row.quarantined:
        yield f"left out, in quarantine: {_listed([escape(n) for n in row.quarantined])}"
    for side, when in ((row.before, "before"), (row.after, "now")):
        if marks := [label for label in side.labels if label in (Label.TUNED, Label.OTHER_LIMITS)]:
            yield f"the run {when} is labelled {', '.join(marks)}"


def note_lines(verdict: Verdict) -> Iterator[str]:
    compared, rules = verdict.comparison, verdict.rules
    for sides, when in ((compared.only_before, "before"), (compared.only_after, "now")):
        if sides and compared.rows:
            yield f"only {when}: {escape(', '.join(side.name for side in sides))}"
    for entry in verdict.quarantined:
        yield f"quarantine of {escape(entry.scenario)} until {entry.until}: {escape(entry.reason)}"
    for entry in verdict.expired:
        yield (
            f"quarantine of {escape(entry.scenario)} expired on {entry.until} and applies no more "
            f"({escape(entry.reason)}); remove it, or give it another date"
        )
    for entry in verdict.unknown:
        yield f"quarantine of {escape(entry.scenario)}: no scenario of either run has this id"
    shared = f", shared out among {len(compared.rows)} rows" if len(compared.rows) > 1 else ""
    yield (
        f"intervals: of now − before, paired by scenario, families kept together, all signs of "
        f"their differences counted; each end is wrong in {100 * rules.level:.3g} % of comparisons"
        f"{shared}"
    )


def _listed(texts: Sequence[str]) -> str:
    more = [f"and {len(texts) - _NAMED} more"] if len(texts) > _NAMED else []
    return ", ".join([*texts[:_NAMED], *more])


def _statuses(counts: Mapping[str, int]) -> str:
    return _joined(f"{times} {status}" for status, times in counts.items())


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(texts) or "none"
