"""Leaderboards and analyses as text."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import groupby

from pytest_agentbench.report.analysis import Alike, Analysis
from pytest_agentbench.report.figures import many
from pytest_agentbench.report.leaderboard import VIEWS, Standing
from pytest_agentbench.report.table import columns, table
from pytest_agentbench.scoring.intervals import LEVEL, Interval
from pytest_agentbench.text import escape


def leaderboard_text(
    standings: Sequence[Standing], *, aggregation: str, k: int, width: int
) -> list[str]:
    """A table of each policy, and what its columns are.

    Where names would be cut, they are without what all of them have in common.
    """
    if not standings:
        return ["no row has a score"]
    lines, notes = _tables(standings, _heads(k), []), []
    shared = _shared([s.identity.parts for s in standings])
    if shared and max(map(columns, lines)) > width:
        lines = _tables(standings, _heads(k), shared, width)
        notes = ["in all names: " + " · ".join(escape(part) for _, part in shared)]
    lines += [
        *notes,
        f"of several runs of a row: {aggregation}; +n and -n: places up or down against",
    ]
    lines += ["  the overall rank; lower: every trial lost to the infrastructure counts as 0"]
    sizes = {(s.identity.policy, s.scenarios) for s in standings}
    policies = {policy for policy, _ in sizes}
    if len(policies) > 1:
        lines.append("rows of different scoring policies are no ranking: each has its own")
    if len(sizes) > len(policies):
        lines.append("rows are over different numbers of scenarios; analyze compares common ones")
    return lines


def _heads(k: int) -> list[str]:
    named = {"pass@k": f"pass@{k}"}
    return [*(named.get(view, view) for view in VIEWS), "lower", "cover", "scen.", "runs", "latest"]


def _shared(parts: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
    """Places and values of what all names have, if that is not the whole of one."""
    alike = [
        (n, found[0]) for n, found in enumerate(zip(*parts, strict=True)) if len(set(found)) == 1
    ]
    said = [(n, part) for n, part in alike if part]
    return said if len(alike) < len(parts[0]) else []


def _tables(
    standings: Sequence[Standing],
    heads: Sequence[str],
    without: Sequence[tuple[int, str]],
    width: int = 10_000,
) -> list[str]:
    lines = []
    left_out = {n for n, _ in without}
    for policy, group in groupby(standings, key=lambda s: s.identity.policy):
        rows = [_standing(s, left_out) for s in group]
        title = "leaderboard" if len(rows) == len(standings) else policy
        lines += [*table(title, heads, rows, width), ""]
    return lines


def _standing(s: Standing, without: Container[int]) -> tuple[str, list[str]]:
    name = " · ".join(p for n, p in enumerate(s.identity.parts) if p and n not in without)
    return (
        f"{_rank(s.ranks['overall'])}. {escape(name or s.identity.name)}",
        [
            *(f"{s.views[view]:.3f}{_moved(s.moved(view))}" for view in VIEWS),
            f"{s.lower:.3f}{_moved(s.ranks['overall'] - s.lower_rank)}",
            f"{s.coverage:.0%}",
            str(s.scenarios),
            str(len(s.runs)),
            s.latest,
        ],
    )


def analyses_text(analyses: Sequence[Analysis], *, width: int) -> list[str]:
    """One after the other, each under the name of its scoring policy if there are several."""
    if not analyses:
        return ["no row has a score"]
    lines: list[str] = []
    for analysis in analyses:
        before = ["", ""] if lines else []
        named = [f"policy {analysis.policy}", ""] if len(analyses) > 1 else []
        lines += [*before, *named, *_analysis(analysis, width)]
    return lines


def _analysis(analysis: Analysis, width: int) -> list[str]:
    if not analysis.scenarios:
        return ["the rows have no scenario in common"]
    rows, scenarios = many(len(analysis.entries), "row"), many(analysis.scenarios, "scenario")
    lines = [f"{rows} over the {scenarios} of all of them"]
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
