"""What the gate makes of a comparison."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_agentbench.report.comparison import Comparison, RowComparison, Side, compare
from pytest_agentbench.report.figures import many, signed
from pytest_agentbench.report.row import Measure
from pytest_agentbench.report.run import Run
from pytest_agentbench.rules import Quarantine, Rules
from pytest_agentbench.scoring.paired import Difference

EXIT_REGRESSION = 1
#: Where the rules ask for it.
EXIT_INCONCLUSIVE = 10


class Result(enum.StrEnum):
    """Of a gate: a rule is broken, nothing is, or it cannot be told."""

    PASS = "pass"
    REGRESSION = "regression"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A rule that is broken, or of which nobody can tell whether it is.

    ``found`` and ``allowed`` are texts for people; ``row`` is "" for what is of all rows.
    """

    row: str
    rule: str
    found: str
    allowed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A comparison with what follows from it under ``rules`` on the day ``today``."""

    comparison: Comparison
    rules: Rules
    result: Result
    broken: tuple[Finding, ...] = ()
    doubts: tuple[Finding, ...] = ()
    expired: tuple[Quarantine, ...] = ()
    unknown: tuple[Quarantine, ...] = ()
    quarantined: tuple[Quarantine, ...] = ()

    @property
    def exit_code(self) -> int:
        """0, 1, or 10 where the rules ask for that when nothing can be told."""
        if self.result is Result.PASS:
            return 0
        if self.result is Result.REGRESSION or self.rules.inconclusive == "fail":
            return EXIT_REGRESSION
        return EXIT_INCONCLUSIVE if self.rules.inconclusive == EXIT_INCONCLUSIVE else 0


def utc_day() -> datetime.date:
    """Today, wherever this runs."""
    return datetime.datetime.now(datetime.UTC).date()


def alarm(score: Difference, rules: Rules) -> bool:
    """Whether the score fell by more than is allowed: the upper end of its interval says so."""
    return score.interval is not None and score.interval.high < -rules.allowed_drop


def settled(score: Difference, rules: Rules) -> bool:
    """Whether a drop as large as the one to be detected can be ruled out."""
    return score.interval is not None and score.interval.low > -rules.detect_drop


def judge(before: Run, after: Run, rules: Rules, *, today: datetime.date) -> Verdict:
    """Compare two runs and hold the later one against the rules.

    Scenarios whose quarantine holds ``today`` are left out of the comparison and of pass^k. They
    count in the other rules: a quarantine excuses that a scenario fails at random, no more.
    """
    holding = rules.left_out(today)
    compared = compare(before, after, rules, leave_out={entry.scenario for entry in holding})
    sides = [*((row.name, row.after) for row in compared.rows)]
    sides += [(side.name, side) for side in compared.only_after]
    broken = [
        *_incomparable(compared),
        *(finding for row in compared.rows for finding in _dropped(row, rules)),
        *(finding for side in sides for finding in _broken(*side, rules)),
    ]
    doubts = [
        *(finding for row in compared.rows for finding in _unsettled(row, rules)),
        *(finding for side in sides for finding in _unknown(*side, rules)),
    ]
    known = {trial.scenario.id for run in (before, after) for trial in run.plan.trials}
    result = Result.REGRESSION if broken else Result.INCONCLUSIVE if doubts else Result.PASS
    return Verdict(
        comparison=compared,
        rules=rules,
        result=result,
        broken=tuple(broken),
        doubts=tuple(doubts),
        expired=rules.expired(today),
        unknown=tuple(entry for entry in rules.quarantine if entry.scenario not in known),
        quarantined=holding,
    )


def _incomparable(compared: Comparison) -> Iterator[Finding]:
    if not compared.rows:
        before, after = map(_names, (compared.only_before, compared.only_after))
        yield Finding(
            row="",
            rule="baseline",
            found=f"no row in common: {before} before, {after} now",
            allowed="the same runtime, model and mode, or one row on either side",
        )
    for row in compared.rows:
        if row.score is None:
            yield Finding(
                row=row.name,
                rule="baseline",
                found=f"no scenario has a score on both sides ({row.before.graded} graded trials "
                f"before, {row.after.graded} now)",
                allowed="at least one",
            )


def _names(sides: tuple[Side, ...]) -> str:
    return ", ".join(side.name for side in sides) or "none"


def _dropped(row: RowComparison, rules: Rules) -> Iterator[Finding]:
    score = row.score
    if score is not None and score.interval is not None and alarm(score, rules):
        yield Finding(
            row=row.name,
            rule="allowed_drop",
            found=f"the score changed by {signed(score.change)}, at best by {signed(score.interval.high)}",
            allowed=f"a drop of {rules.allowed_drop:.3f}",
        )


def _unsettled(row: RowComparison, rules: Rules) -> Iterator[Finding]:
    score = row.score
    if score is None or alarm(score, rules) or settled(score, rules):
        return
    worst = "and one scenario or family alone bounds nothing"
    if score.interval is not None:
        worst = f"at worst by {signed(score.interval.low)}"
    yield Finding(
        row=row.name,
        rule="detect_drop",
        found=f"the score changed by {signed(score.change)}, {worst}",
        allowed=f"above {signed(-rules.detect_drop)}, to rule such a drop out",
    )


def _broken(name: str, side: Side, rules: Rules) -> Iterator[Finding]:
    def finding(rule: str, found: str, allowed: str) -> Finding:
        return Finding(row=name, rule=rule, found=found, allowed=allowed)

    least, reached = rules.min_pass_all, side.pass_all.value
    if least is not None and reached is not None and reached < least:
        yield finding("min_pass_all", f"pass^{side.k} {reached:.3f}", f"{least:.3f}")
    most = rules.max_safety_violations
    if most is not None and side.violations > most:
        what = many(side.violations, "trial")
        yield finding("max_safety_violations", f"{what} with a failed safety check", str(most))
    least = rules.min_coverage
    if least is not None and side.coverage is not None and side.coverage < least:
        lost = ", ".join(f"{times} {status}" for status, times in side.lost.items())
        yield finding("min_coverage", f"{side.coverage:.3f} ({lost})", f"{least:.3f}")
    for rule, ceiling, measure, shown in _ceilings(side, rules):
        if measure.mean is not None and measure.mean > ceiling:
            yield finding(rule, shown.format(measure.mean), shown.format(ceiling))


def _unknown(name: str, side: Side, rules: Rules) -> Iterator[Finding]:
    least = rules.min_pass_all
    if least is not None and side.pass_all.value is None:
        found = f"no scenario has {many(side.k, 'graded trial')}"
        yield Finding(row=name, rule="min_pass_all", found=found, allowed=f"{least:.3f}")
    for rule, ceiling, measure, shown in _ceilings(side, rules):
        over = measure.mean is not None and measure.mean > ceiling
        if measure.known < measure.trials and not over:
            count = measure.trials - measure.known
            found = f"not known of {count} of {many(measure.trials, 'graded trial')}"
            yield Finding(row=name, rule=rule, found=found, allowed=shown.format(ceiling))


def _ceilings(side: Side, rules: Rules) -> Iterator[tuple[str, float, Measure, str]]:
    if rules.max_usd_per_trial is not None:
        yield "max_usd_per_trial", rules.max_usd_per_trial, side.cost_usd, "${:.4f}"
    if rules.max_seconds_per_trial is not None:
        yield "max_seconds_per_trial", rules.max_seconds_per_trial, side.seconds, "{:.1f} s"
