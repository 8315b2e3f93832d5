"""Rows of many runs side by side: ranks by several views, and how much depends on the view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from types import MappingProxyType

from pytest_agentbench.report.analysis_set import Entry, Identity, by_policy
from pytest_agentbench.scoring.correlation import ranks
from pytest_agentbench.scoring.reliability import pass_at, suite

VIEWS = ("overall", "correctness", "pass@k", "strict")
#: What stands for a row that was measured in several runs.
AGGREGATIONS: Mapping[str, Callable[[Sequence[tuple[float, float]]], float]] = MappingProxyType(
    {
        "best": lambda dated: max(value for _, value in dated),
        "mean": lambda dated: fmean(value for _, value in dated),
        "median": lambda dated: median(value for _, value in dated),
        "latest": lambda dated: max(dated)[1],
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A row of the leaderboard. ``views`` are scores in [0, 1], ``ranks`` from 1 by view.

    ``lower`` counts trials lost to the infrastructure as 0, and ``lower_rank`` is the rank by that:
    where it differs, the place is a matter of luck with providers.
    """

    identity: Identity
    runs: tuple[str, ...]
    scenarios: int
    views: Mapping[str, float]
    ranks: Mapping[str, float]
    lower: float
    lower_rank: float
    coverage: float
    latest: str

    def moved(self, view: str) -> float:
        """Places up (above 0) or down in ``view``, against the overall rank."""
        return self.ranks["overall"] - self.ranks[view]


def leaderboard(
    entries: Sequence[Entry], *, aggregation: str = "latest", k: int | None = None
) -> tuple[Standing, ...]:
    """Policy by policy, the best first; of equals, by name.

    Scores of different policies are no ranking. ``k`` of pass@k is the trials that all rows have.
    """
    if not entries:
        return ()
    k = k or min(entry.trials for entry in entries)
    return tuple(
        standing
        for same in by_policy(entries).values()
        for standing in _ranked(same, aggregation, k)
    )


def _ranked(entries: Sequence[Entry], aggregation: str, k: int) -> list[Standing]:
    groups: dict[Identity, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.identity, []).append(entry)
    put = AGGREGATIONS[aggregation]

    def value(group: Sequence[Entry], figure: Callable[[Entry], float]) -> float:
        return put([(entry.started, figure(entry)) for entry in group])

    figures: dict[str, Callable[[Entry], float]] = {
        "overall": lambda entry: entry.score,
        "correctness": lambda entry: entry.overall(lambda grade: grade.correctness),
        "pass@k": lambda entry: _pass_at(entry, k),
        "strict": lambda entry: entry.overall(lambda grade: float(grade.strict)),
    }
    views = {
        view: [value(group, figure) for group in groups.values()]
        for view, figure in figures.items()
    }
    lower = [value(group, lambda entry: entry.lower) for group in groups.values()]
    placed = {view: ranks(values) for view, values in views.items()}
    below = ranks(lower)
    standings = [
        Standing(
            identity=identity,
            runs=tuple(entry.run for entry in group),
            scenarios=max(len(entry.grades) for entry in group),
            views={view: views[view][number] for view in VIEWS},
            ranks={view: placed[view][number] for view in VIEWS},
            lower=lower[number],
            lower_rank=below[number],
            coverage=min(entry.coverage for entry in group),
            latest=max(entry.date for entry in group),
        )
        for number, (identity, group) in enumerate(groups.items())
    ]
    return sorted(standings, key=lambda s: (s.ranks["overall"], s.identity.name))


def _pass_at(entry: Entry, k: int) -> float:
    counts = [(len(g), sum(each.passed for each in g)) for g in entry.grades.values()]
    found = suite(counts, k, pass_at)
    return float(found.value or 0)
