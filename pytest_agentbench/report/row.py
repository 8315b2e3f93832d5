"""A row of the scoreboard: one runtime, model, mode and scoring policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.report.costly import CostlyCheck
from pytest_agentbench.report.families import FamilyRow
from pytest_agentbench.scoring.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over ``scenarios``; ``left_out`` had too few graded trials. None is *unknown*."""

    value: float | None = None
    interval: Interval | None = None
    scenarios: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Mean of something counted, over the ``known`` of ``trials`` graded trials."""

    mean: float | None = None
    known: int = 0
    trials: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewScore:
    """The overall score over the ``trials`` that a view counts."""

    score: float | None = None
    interval: Interval | None = None
    trials: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionRow:
    """One dimension of a row; ``graded`` counts trials."""

    name: str
    scenarios: int
    graded: int
    score: float
    capability: float
    pass_at_1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortLimit:
    """A scenario whose time limit (s) stopped many of its graded ``trials``: it may be too short.

    ``stopped`` of them used up the limit; ``elapsed`` is the longest that one of those took.
    """

    scenario: str
    limit: float
    elapsed: float
    stopped: int
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UncountedScenario:
    """A scenario that is no part of the suite's official count, by trials."""

    scenario: str
    trials: int
    graded: int
    passed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Trials that ended without a score, by status, with the first one's message."""

    status: str
    counts: str
    times: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row. Scores are in [0, 1], None where nothing is graded.

    ``score`` is over graded trials and has ``interval``; ``lower`` counts every supported trial
    without a score as 0; ``coverage`` is graded / (planned − unsupported). ``trials`` is the
    number n of trials planned of a scenario. ``pass_at``, ``pass_all`` and ``strict_all`` are
    pass@k, pass^k and strict^k by k. ``any_passed`` and ``all_passed`` are shares of scenarios.
    ``views`` has the score by view. ``conformance`` is what its records have of that name, where
    they agree. Trials of ``uncounted`` are in nothing else here.
    """

    runtime: str
    adapter: str
    model: str
    mode: str
    policy: str
    scripted: bool
    replayed: bool
    scenarios: int
    trials: int
    planned: int
    graded: int
    unsupported: int
    passed: int
    reruns: int
    statuses: Mapping[str, int] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    coverage: float | None = None
    score: float | None = None
    interval: Interval | None = None
    lower: float | None = None
    capability: float | None = None
    final: float | None = None
    covered_weight: float | None = None
    views: Mapping[str, ViewScore] = field(default_factory=dict)
    pass_at: Mapping[int, Estimate] = field(default_factory=dict)
    pass_all: Mapping[int, Estimate] = field(default_factory=dict)
    strict_all: Mapping[int, Estimate] = field(default_factory=dict)
    any_passed: Estimate = field(default_factory=Estimate)
    all_passed: Estimate = field(default_factory=Estimate)
    strict: float | None = None
    loose: float | None = None
    spread: float | None = None
    steps: Measure = field(default_factory=Measure)
    tool_calls: Measure = field(default_factory=Measure)
    tokens: Measure = field(default_factory=Measure)
    cost_usd: Measure = field(default_factory=Measure)
    seconds: Measure = field(default_factory=Measure)
    dimensions: tuple[DimensionRow, ...] = ()
    sandboxes: Mapping[str, int] = field(default_factory=dict)
    flags: Mapping[str, int] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    conformance: Mapping[str, Any] = field(default_factory=dict)
    costly: tuple[CostlyCheck, ...] = ()
    short_limits: tuple[ShortLimit, ...] = ()
    families: tuple[FamilyRow, ...] = ()
    uncounted: tuple[UncountedScenario, ...] = ()

    @property
    def supported(self) -> int:
        return self.planned - self.unsupported

    @property
    def name(self) -> str:
        """Runtime, model and mode, as they were asked for."""
        return " · ".join(filter(None, (self.runtime, self.model, self.mode)))
