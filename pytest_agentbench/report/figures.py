"""Numbers of the scoreboard as short texts."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from pytest_agentbench.report.row import Estimate, Measure
from pytest_agentbench.scoring.intervals import Interval


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def signed(value: float) -> str:
    """A change; never a zero with a minus."""
    return f"{round(value, 3) + 0.0:+.3f}"


def span(interval: Interval | None) -> str:
    return f"[{interval.low:.3f}, {interval.high:.3f}]" if interval else ""


def value_of(found: Estimate | None) -> float | None:
    return found.value if found else None


def estimate(found: Estimate | None) -> str:
    """A value and, shorter, its interval."""
    value = number(value_of(found))
    if found is None or found.interval is None:
        return value
    return f"{value} {found.interval.low:.2f}–{found.interval.high:.2f}"


def measure(found: Measure, shown: Callable[[float], str]) -> str:
    """A mean as ``shown``, with a star when it is not of all trials; "?" when it is unknown."""
    if found.mean is None:
        return "?" if found.trials else "–"
    return shown(found.mean) + ("*" if found.known < found.trials else "")


def compact(count: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return f"{count:.0f}"


def duration(seconds: float) -> str:
    if seconds >= 120:
        return f"{seconds / 60:.1f} min"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds:.2f} s"


def many(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent="  ", break_on_hyphens=False, max_lines=4, placeholder=" …"
    )
