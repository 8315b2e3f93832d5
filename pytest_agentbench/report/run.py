"""A run folder, read: what was planned, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.report.ledger import LedgerError, LedgerView, read
from pytest_agentbench.report.plan import Plan, PlanError, read_plan
from pytest_agentbench.report.scoreboard import Scoreboard, scoreboard

PLAN, LEDGER = "plan.json", "ledger.jsonl"


class RunError(Exception):
    """A folder that cannot be read as a run; the message is shown as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The folder of a run with its plan and its ledger."""

    folder: Path
    plan: Plan
    view: LedgerView

    @property
    def scoreboard(self) -> Scoreboard:
        return scoreboard(self.plan, self.view.records)


def read_run(folder: Path) -> Run:
    """Raises ``RunError``."""
    if not (folder / PLAN).is_file():
        raise RunError(f"{folder} has no {PLAN}; give the folder of a run")
    try:
        return Run(folder=folder, plan=read_plan(folder / PLAN), view=read(folder / LEDGER))
    except (LedgerError, PlanError) as error:
        raise RunError(f"{folder}: {error}") from error
