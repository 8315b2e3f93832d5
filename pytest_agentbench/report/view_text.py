"""The scores of the three views as columns of text, the declared one first."""

from __future__ import annotations

from collections.abc import Callable

from pytest_agentbench.report.figures import number, span
from pytest_agentbench.report.row import Row, ViewScore
from pytest_agentbench.report.scoreboard import Scoreboard
from pytest_agentbench.views import DEFAULT_VIEW, VIEWS


def viewed(scoreboard: Scoreboard) -> bool:
    """Whether the views say more than the score: they count other trials, or one was declared."""
    differ = any(len({view.trials for view in row.views.values()}) > 1 for row in scoreboard.rows)
    return differ or scoreboard.view != DEFAULT_VIEW


def view_columns(scoreboard: Scoreboard) -> list[tuple[str, Callable[[Row], str]]]:
    """Head and cell of each view: its score, the first one's interval, how many trials it counts."""
    first = scoreboard.view
    order = [first, *(name for name in VIEWS if name != first)]
    return [(name, _of(name, name == first)) for name in order]


def _of(name: str, primary: bool) -> Callable[[Row], str]:
    def shown(row: Row) -> str:
        view = row.views.get(name, ViewScore())
        parts = (number(view.score), span(view.interval) * primary, f"of {view.trials}")
        return " ".join(filter(None, parts))

    return shown
