"""How far a run is, and how long it will still take. Times are seconds of one clock."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any

from pytest_agentbench.record import PlannedTrial
from pytest_agentbench.report.figures import compact
from pytest_agentbench.status import Status

#: Of trials that nothing is known of, before the first has ended: a share of their time limit.
_GUESS = 0.25
#: Trials that are named at once.
_NAMED = 3
#: Trials of a kind before they tell how such trials spread.
_ENOUGH = 3
#: Of a trial that took longer than any like it: what it takes in all, by what it has taken.
_OVER = 1.25
#: Multiples of it fill the unit interval evenly, however many they are.
_GOLDEN = (5**0.5 - 1) / 2

Kind = tuple[str, str, str, str]


def kind_of(trial: PlannedTrial) -> Kind:
    """What trials have in common that take about as long."""
    return (trial.scenario.id, trial.runtime, trial.model, trial.mode)


@dataclass(slots=True)
class Progress:
    """The trials of one invocation in the order in which they start, on ``workers`` at once.

    ``known`` holds seconds that trials of a kind took in earlier runs.
    """

    trials: Sequence[PlannedTrial]
    workers: int = 1
    known: Mapping[Kind, float] = field(default_factory=dict)
    ended: int = 0
    graded: int = 0
    passed: int = 0
    errors: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    unknown_cost: bool = False
    running: dict[str, float] = field(default_factory=dict)
    _open: dict[str, PlannedTrial] = field(default_factory=dict)
    _took: dict[Kind, list[float]] = field(default_factory=lambda: defaultdict(list))
    _shares: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._open = {trial.node_id: trial for trial in self.trials}

    def start(self, node_id: str, now: float) -> None:
        if node_id in self._open:
            self.running[node_id] = now

    def end(self, node_id: str, now: float, facts: Mapping[str, Any] | None) -> None:
        """A trial is over, teardown included; ``facts`` are those of its report, if it has any."""
        trial = self._open.pop(node_id, None)
        began = self.running.pop(node_id, now)
        if trial is None:
            return
        self.ended += 1
        if facts is None:
            self.errors += 1
            return
        status = Status(facts["status"])
        if status is Status.UNSUPPORTED:
            return
        self.graded += facts["passed"] is not None
        self.passed += facts["passed"] is True
        self.errors += facts["passed"] is None
        self.tokens += facts.get("tokens") or 0
        cost = facts.get("cost_usd")
        self.cost_usd += cost or 0.0
        self.unknown_cost |= bool(facts.get("tokens")) and cost is None
        took = now - began
        self._took[kind_of(trial)].append(took)
        if trial.limit > 0:
            self._shares.append(took / trial.limit)

    def left(self, now: float) -> float | None:
        """Seconds until all trials have ended; None while nothing tells.

        Trials are given to workers in their order. One is expected to take what those of its kind
        took in this run, else in earlier runs, else the share of its time limit that others needed;
        and around that they spread as those that have ended did, since a run on many workers is as
        long as its slowest trials. One that has outrun all that needs a quarter more.
        """
        spread = self._spread()
        share = median(self._shares) if self._shares else _GUESS
        busy: list[float] = []
        waiting: list[float] = []
        for number, (node_id, trial) in enumerate(self._open.items(), 1):
            expected = self._expected(trial, share)
            if expected is None:
                return None
            place = number * _GOLDEN % 1.0
            if node_id in self.running:
                elapsed = now - self.running[node_id]
                longer = [each for each in spread if each * expected > elapsed]
                takes = _quantile(longer, place) * expected if longer else elapsed * _OVER
                busy.append(takes - elapsed)
            else:
                waiting.append(_quantile(spread, place) * expected)
        heap = sorted([*([0.0] * max(0, self.workers - len(busy))), *busy])
        for takes in waiting:
            heapq.heapreplace(heap, heap[0] + takes)
        return max(heap, default=0.0)

    def line(self, now: float, width: int) -> str:
        """All of it on one line, at most ``width`` wide."""
        left = self.left(now) if self.ended else None
        parts = [f"{self.ended}/{len(self.trials)}"]
        if self.graded:
            parts.append(f"{self.passed / self.graded:.0%} passed")
        if self.errors:
            parts.append(f"{self.errors} without a score")
        if self.tokens:
            parts.append(f"{compact(self.tokens)} tokens")
        if self.cost_usd or (self.tokens and not self.unknown_cost):
            parts.append(f"${self.cost_usd:,.2f}{'+' if self.unknown_cost else ''}")
        if self.ended < len(self.trials):
            parts.append("time left unknown" if left is None else f"{_clock(left)} left")
        text = ", ".join(parts)
        return _fitted(text, list(self._named(now)), width)

    def _named(self, now: float) -> Iterable[str]:
        longest = sorted(self.running.items(), key=lambda item: item[1])
        for node_id, began in longest[:_NAMED]:
            yield f"{node_id.rpartition('::')[2]} {_clock(now - began)}"
        if len(longest) > _NAMED:
            yield f"and {len(longest) - _NAMED} more"

    def _spread(self) -> list[float]:
        """What trials took, as shares of the mean of their kind, sorted."""
        shares = []
        for took in self._took.values():
            mean = fmean(took)
            if len(took) >= _ENOUGH and mean > 0:
                shares += [each / mean for each in took]
        return sorted(shares) or [1.0]

    def _expected(self, trial: PlannedTrial, share: float) -> float | None:
        kind = kind_of(trial)
        if took := self._took.get(kind):
            return fmean(took)
        if kind in self.known:
            return self.known[kind]
        if trial.limit > 0:
            return trial.limit * share
        every = [each for took in self._took.values() for each in took]
        return fmean(every) if every else None


def _quantile(values: Sequence[float], place: float) -> float:
    return values[int(place * len(values))]


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _fitted(text: str, running: list[str], width: int) -> str:
    while running:
        whole = f"{text}; running: {', '.join(running)}"
        if len(whole) <= width:
            return whole
        running.pop()
    return text[:width]
