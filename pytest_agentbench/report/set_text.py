"""Leaderboards and analyses as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_agentbench.report.analysis import Alike, Analysis
from pytest_agentbench.report.leaderboard import VIEWS, Standing
from pytest_agentbench.report.table import table
from pytest_agentbench.scoring.intervals import LEVEL, Interval
from pytest_agentbench.text import escape


def leaderboard_text(
    standings: Sequence[Standing], *, aggregation: str, k: int, width: int
) -> list[str]:
    """The table, and what its columns are."""
    if not standings:
        return ["no row has a score"]
    named = {"pass@k": f"pass@{k}"}
    heads = [named.get(view, view) for view in VIEWS]
    rows = [
        (
            f"{_rank(s.ranks['overall'])}. {escape(s.identity.name)}",
            [
                *(f"{s.views[view]:.3f}{_moved(s.moved(view))}" for view in VIEWS),
                f"{s.lower:.3f}{_moved(s.ranks['overall'] - s.lower_rank)}",
                f"{s.coverage:.0%}",
                str(s.scenarios),
                str(len(s.runs)),
                s.latest,
            ],
        )
        for s in standings
    ]
    columns = (*heads, "lower", "cover", "scen.", "runs", "latest")
    policies = sorted({s.identity.policy for s in standings})
    lines = table("leaderboard", columns, rows, width)
    lines += ["", f"of several runs of a row: {aggregation}; +n and -n: places up or down against"]
    lines += ["  the overall rank; lower: every trial lost to the infrastructure counts as 0"]
    if len(policies) > 1:
        lines.append(f"rows of different scoring policies are no ranking: {', '.join(policies)}")
    if len({s.scenarios for s in standings}) > 1:
        lines.append("rows are over different numbers of scenarios; analyze compares common ones")
    return lines


def analysis_text(analysis: Analysis, *, width: int) -> list[str]:
    """All parts, each with what it says."""
    if not analysis.scenarios:
        return ["the rows have no scenario in common"]
    lines = [f"{len(analysis.entries)} rows over the {analysis.scenarios} scenarios of all of them"]
    for title, found in (
        ("views of the score", analysis.views),
        ("weight of correctness", analysis.weights),
        ("formula, against the full one", analysis.ablations),
    ):
        lines += ["", *_alikes(title, found, width)]
    lines += ["", *_spreads(analysis, width), "", *_powers(analysis, width)]
    return [*lines, "", f"? is unknown; intervals: {LEVEL:.0%}, rows drawn again"]


def _alikes(title: str, found: Sequence[Alike], width: int) -> list[str]:
    rows = [
        (
            f"{each.first} ~ {each.second}",
            [
                _figure(each.spearman, each.spearman_interval),
                _figure(each.pearson, each.pearson_interval),
                f"{each.moved:g}",
            ],
        )
        for each in found
    ]
    return table(title, ("Spearman", "Pearson", "places moved"), rows, width)


def _spreads(analysis: Analysis, width: int) -> list[str]:
    rows = [
        (
            escape(each.entry.identity.name),
            [
                f"{each.between:.4f}",
                "?" if each.within is None else f"{each.within:.4f}",
                "?" if each.share is None else f"{each.share:.0%}",
            ],
        )
        for each in analysis.spreads
    ]
    return table("variance of scores", ("between scen.", "within scen.", "within"), rows, width)


def _powers(analysis: Analysis, width: int) -> list[str]:
    rows = [
        (
            escape(each.id),
            [
                f"{each.mean:.3f}",
                f"{each.spread:.3f}",
                "?" if each.discrimination is None else f"{each.discrimination:+.2f}",
                each.verdict,
            ],
        )
        for each in sorted(analysis.powers, key=lambda p: (p.spread, p.id))
    ]
    return table("scenarios", ("mean", "spread", "discrimination", ""), rows, width)


def _figure(value: float | None, interval: Interval | None) -> str:
    if value is None:
        return "?"
    bounds = f" [{interval.low:+.2f}, {interval.high:+.2f}]" if interval else ""
    return f"{value:+.3f}{bounds}"


def _rank(rank: float) -> str:
    return f"{rank:g}"


def _moved(places: float) -> str:
    return f" {places:+g}" if places else ""


def csv_rows(standings: Sequence[Standing]) -> Iterator[list[str | int | float]]:
    """The leaderboard as rows of plain values, heads first."""
    yield [
        *("profile", "runtime", "version", "model", "mode", "policy", "label"),
        *VIEWS,
        *("lower", "rank", "lower_rank", "coverage", "scenarios", "runs", "latest"),
    ]
    for s in standings:
        i = s.identity
        yield [
            *(i.profile, i.runtime, i.version, i.model, i.mode, i.policy, i.label),
            *(s.views[view] for view in VIEWS),
            *(s.lower, s.ranks["overall"], s.lower_rank, s.coverage, s.scenarios),
            *(" ".join(s.runs), s.latest),
        ]
