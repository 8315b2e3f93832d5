"""Agreement of judges as text."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_agentbench.report.concord import Concord
from pytest_agentbench.scoring.agreement import Agreement, Nearness
from pytest_agentbench.text import escape

#: Trials on which judges differ most that are named.
_NAMED = 10


def render(found: Concord) -> Iterator[str]:
    """Lines for people."""
    yield f"judges: {', '.join(map(escape, found.judges)) or 'none'}"
    if len(found.judges) < 2:
        yield "agreement needs two judges: of one run, or of a run and its regrade"
        return
    yield f"all verdicts: {agreed(found.overall)}"
    width = max(map(len, found.criteria), default=0)
    for name, each in found.criteria.items():
        yield f"  {escape(name):<{width}}  {agreed(each)}"
    for (a, b), near in found.nearness.items():
        yield f"scores of {escape(a)} and {escape(b)}: {_near(near)}"
    if found.apart:
        yield "furthest apart"
    for apart in found.apart[:_NAMED]:
        (a, b), (x, y) = apart.judges, apart.scores
        yield (
            f"  {escape(apart.trial)}: {escape(a)} {x:.2f}, {escape(b)} {y:.2f} "
            f"({', '.join(map(escape, apart.criteria))})"
        )
    if len(found.apart) > _NAMED:
        yield f"  … and {len(found.apart) - _NAMED} more"


def agreed(found: Agreement) -> str:
    """An agreement in one line; ``?`` for what is not defined."""
    return (
        f"{found.raters} on {found.items} items, the same on {_share(found.same)}; "
        f"Cohen {_figure(found.cohen)}, Fleiss {_figure(found.fleiss)}, "
        f"Krippendorff {_figure(found.krippendorff)}"
    )


def _near(found: Nearness) -> str:
    within = ", ".join(
        f"{_share(share)} within {most:g}" for most, share in (found.within or {}).items()
    )
    return (
        f"{found.pairs} trials, Pearson {_figure(found.pearson)}, mean delta "
        f"{_figure(found.mean_delta)}{f', {within}' if within else ''}"
    )


def _figure(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "?" if value is None else f"{value:.0%}"
