"""Time limits that stop trials, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_agentbench.report.figures import duration, many, wrap
from pytest_agentbench.report.row import Row
from pytest_agentbench.text import escape

#: Scenarios of a row that are named.
_NAMED = 5


def limit_lines(names: Sequence[str], rows: Sequence[Row], width: int) -> Iterator[str]:
    """Which limits stopped half of a scenario's trials or more, and what can be done."""
    if not any(row.short_limits for row in rows):
        return
    yield ""
    yield "time limits that stopped half of a scenario's trials or more"
    for name, row in zip(names, rows, strict=True):
        if not row.short_limits:
            continue
        told = [
            f"{escape(each.scenario)} ({each.stopped} of {many(each.trials, 'trial')} at "
            f"{duration(each.limit)}, after {duration(each.elapsed)})"
            for each in row.short_limits[:_NAMED]
        ]
        if len(row.short_limits) > _NAMED:
            told.append(f"and {len(row.short_limits) - _NAMED} more")
        yield from wrap(f"{name}: {', '.join(told)}", width)
    yield "  --timeout-floor SECONDS gives every trial at least so long; rows say so"
