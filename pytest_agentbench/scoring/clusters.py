"""Scenarios as they are resampled: in clusters, each with its part of the overall mean."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean

from pytest_agentbench.scenario.model import DIMENSIONS
from pytest_agentbench.scoring import intervals
from pytest_agentbench.scoring.aggregate import ScenarioScore, dimensioned, weights
from pytest_agentbench.scoring.draws import Column, Draws
from pytest_agentbench.scoring.intervals import UNIT, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """What all intervals over the same scenarios have in common.

    Clusters are families, and scenarios without one. ``places`` has of each scenario its column, its
    cluster, and its weight in the column; ``shares`` are the weights of the columns, ``masses`` what
    of each is in each cluster. ``units`` is how many clusters of equal weight vary as these do.
    """

    places: tuple[tuple[int, int, float], ...]
    shares: tuple[float, ...]
    masses: tuple[Column, ...]
    units: float
    plain: bool

    @classmethod
    def of(cls, scenarios: Sequence[ScenarioScore], *, plain: bool = False) -> Clusters:
        """For the overall mean, with a column a dimension; for the unweighted one if ``plain``."""
        plain = plain or not dimensioned(scenarios)
        number: dict[str, int] = {}
        for s in scenarios:
            number.setdefault(s.cluster, len(number))
        occur = {s.facts.dimension for s in scenarios}
        slots = {name: place for place, name in enumerate(n for n in DIMENSIONS if n in occur)}
        places = tuple(
            (0, number[s.cluster], 1.0)
            if plain
            else (slots[s.facts.dimension], number[s.cluster], s.weight)
            for s in scenarios
        )
        mass = [0.0] * len(number)
        parts = (1.0,) * len(scenarios) if plain else weights(scenarios)
        for (_, cluster, _), part in zip(places, parts, strict=True):
            mass[cluster] += part
        shares = (1.0,) if plain else tuple(DIMENSIONS[name] for name in slots)
        return cls(
            places=places,
            shares=shares,
            masses=_columns(places, [1.0] * len(places), len(shares), len(number)),
            units=fsum(mass) ** 2 / fsum([m * m for m in mass]),
            plain=plain,
        )

    def interval(self, values: Sequence[float], *, draws: Draws | None = None) -> Interval | None:
        """Interval of the mean of one value a scenario; None below two clusters.

        Bootstrap, but Wilson where that knows better: for zeros and ones of unrelated scenarios in
        an unweighted mean, and where all values are the same, since resampling them claims a
        certainty that is not there. Several intervals may share ``draws``, which changes none.
        """
        size = len(self.masses[0])
        if size < 2:
            return None
        alike = min(values) == max(values)
        alone = self.plain and size == len(self.places)
        binary = alone and all(v in (0.0, 1.0) for v in values)
        if (alike or binary) and min(values) >= 0.0 and max(values) <= 1.0:
            return intervals.wilson(fmean(values) * self.units, self.units)
        least = min(0.0, *values)  # sums of a bootstrap are of no negative numbers
        found = intervals.bootstrap_means(
            _columns(self.places, [value - least for value in values], len(self.shares), size),
            self.masses,
            self.shares,
            draws=draws or Draws(),
        )
        if found is None or not least:
            return found
        return dataclasses.replace(found, low=found.low + least, high=found.high + least)


def _columns(
    places: Sequence[tuple[int, int, float]], values: Sequence[float], slots: int, size: int
) -> tuple[Column, ...]:
    """Of each slot a column with a number a cluster: the sum of its weighted values."""
    columns = [[0] * size for _ in range(slots)]
    for (slot, cluster, part), value in zip(places, values, strict=True):
        columns[slot][cluster] += round(part * value * UNIT)
    return tuple(map(tuple, columns))
