"""A run folder of any size, read trial by trial."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.record import PlannedTrial, Record
from pytest_agentbench.report.ledger import LedgerError
from pytest_agentbench.report.ledger_index import LedgerIndex
from pytest_agentbench.report.plan import Plan, PlanError
from pytest_agentbench.report.plan_file import PlanFile
from pytest_agentbench.report.run import LEDGER, PLAN, RunError
from pytest_agentbench.report.scoreboard import Rows, Scoreboard
from pytest_agentbench.report.tally import Tally

Pair = tuple[PlannedTrial, Record | None]


@dataclass(slots=True, kw_only=True)
class RunReader:
    """The trials of a run in the order of its plan, one at a time, as often as they are asked for.

    What it says is what ``run.read_run`` says of the same folder; that keeps all records.
    """

    folder: Path
    file: PlanFile
    index: LedgerIndex
    _rows: Rows = field(default_factory=Rows)
    _board: Scoreboard | None = None

    @property
    def plan(self) -> Plan:
        """The plan without its trials."""
        return self.file.plan

    def pairs(self) -> Iterator[Pair]:
        """Each planned trial with its record. Raises ``RunError``."""
        with _named(self.folder):
            for trial in self.file:
                yield trial, self.index.record(trial.key)

    def counted(self) -> Iterator[Pair]:
        """``pairs``; once through, the scoreboard is known without reading them again."""
        rows, found = Rows(), 0
        for trial, record in self.pairs():
            found += record is not None
            rows.add(trial, record)
            yield trial, record
        with _named(self.folder):
            self._board = rows.scoreboard(self.plan, strays=self._strays(found))
        self._rows = rows

    def scoreboard(self) -> Scoreboard:
        """Raises ``RunError``."""
        if self._board is None:
            for _ in self.counted():
                pass
        assert self._board is not None
        return self._board

    def tallies(self) -> tuple[Tally, ...]:
        """What each row of the scoreboard adds up. Raises ``RunError``."""
        self.scoreboard()
        return tuple(self._rows.tallies.values())

    def _strays(self, found: int) -> int:
        if found == len(self.index):
            return 0
        planned = {trial.key for trial in self.file}
        others = (key for key in self.index if key not in planned)
        return sum(self.index.record(key) is not None for key in others)


@contextlib.contextmanager
def open_run(folder: Path) -> Iterator[RunReader]:
    """Raises ``RunError``."""
    if not (folder / PLAN).is_file():
        raise RunError(f"{folder} has no {PLAN}; give the folder of a run")
    with _named(folder):
        file, index = PlanFile(folder / PLAN), LedgerIndex(folder / LEDGER)
        with index:
            yield RunReader(folder=folder, file=file, index=index)


@contextlib.contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Name the folder that cannot be read."""
    try:
        yield
    except (LedgerError, PlanError) as error:
        raise RunError(f"{folder}: {error}") from error
