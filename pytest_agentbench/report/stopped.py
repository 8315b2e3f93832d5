"""Time limits that stop trials, scenario by scenario."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_agentbench.record import Record
from pytest_agentbench.report.row import ShortLimit
from pytest_agentbench.status import Status

#: The share of a scenario's graded trials from which on its limit is told.
SHARE = 0.5


@dataclass(slots=True)
class Stopped:
    """What the limits of one row did so far."""

    _trials: dict[str, int] = field(default_factory=dict)
    _limits: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        """Take in a graded record."""
        name = record.scenario.id
        self._trials[name] = self._trials.get(name, 0) + 1
        if record.status is Status.AGENT_TIMEOUT and record.time_limit is not None:
            limit = record.time_limit
            self._limits.setdefault(name, []).append((limit.limit, limit.elapsed))

    def rows(self) -> tuple[ShortLimit, ...]:
        """Scenarios of which the limit stopped ``SHARE`` or more, in the order of their ids."""
        return tuple(
            ShortLimit(
                scenario=name,
                limit=max(limit for limit, _ in found),
                elapsed=max(elapsed for _, elapsed in found),
                stopped=len(found),
                trials=self._trials[name],
            )
            for name, found in sorted(self._limits.items())
            if len(found) >= SHARE * self._trials[name]
        )
