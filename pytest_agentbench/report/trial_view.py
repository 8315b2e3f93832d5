"""One trial of a run folder with all that was kept of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_agentbench.plain import plain
from pytest_agentbench.record import PlannedTrial, Record
from pytest_agentbench.report.artefacts import (
    DIFF,
    PROMPT,
    STDERR,
    STDOUT,
    TRACE,
    WORKSPACE,
)
from pytest_agentbench.report.artefacts import (
    read as artefact,
)
from pytest_agentbench.report.ledger import LedgerView, read
from pytest_agentbench.report.plan import read_plan
from pytest_agentbench.text import escape
from pytest_agentbench.trace.canonical import parse_events, to_json
from pytest_agentbench.trace.events import Event

#: Bytes of a stream, and of the prompt, that are read.
_READ = 4 << 20
#: Trials that are named where a key is not clear.
_NAMED = 10


class NoSuchTrial(Exception):
    """A key that names no trial of the run, or several; the message says which there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialView:
    """A trial. ``record`` is None while it has not ended; ``workspace`` unless one was kept.

    ``earlier`` are its records with a score before the one that counts.
    """

    planned: PlannedTrial
    record: Record | None = None
    earlier: tuple[Record, ...] = ()
    prompt: str = ""
    events: tuple[Event, ...] = ()
    stdout: str = ""
    stderr: str = ""
    diff: str = ""
    folder: Path | None = None
    workspace: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; the record as its line in the ledger."""
        record = self.record
        closed = {"closed": record.closed, "survivors": plain(record.survivors)} if record else {}
        return {
            "trial": plain(self.planned),
            "record": record.to_json() | closed if record else None,
            "earlier": [record.to_json() for record in self.earlier],
            "prompt": self.prompt,
            "events": [plain(to_json(event)) for event in self.events],
            "stdout": self.stdout,
            "stderr": self.stderr,
            "diff": self.diff,
            "folder": str(self.folder) if self.folder else None,
            "workspace": str(self.workspace) if self.workspace else None,
        }


def view(run_dir: Path, name: str) -> TrialView:
    """The trial that ``name`` names: the beginning of its key, its id, or its pytest id.

    Raises ``NoSuchTrial``, ``PlanError`` and ``LedgerError``.
    """
    plan = run_dir / "plan.json"
    if not plan.is_file():
        raise NoSuchTrial(f"{run_dir} has no plan.json; give the folder of a run")
    ledger = read(run_dir / "ledger.jsonl")
    planned = find(_trials(read_plan(plan).trials, ledger), name, run_dir)
    folder = run_dir / "trials" / planned.key
    kept = folder / WORKSPACE
    return TrialView(
        planned=planned,
        record=ledger.records.get(planned.key),
        earlier=tuple(r for r in ledger.history.get(planned.key, ()) if r.graded)[:-1],
        prompt=_text(folder, PROMPT),
        events=parse_events(artefact(folder, TRACE)).events,
        stdout=_text(folder, STDOUT),
        stderr=_text(folder, STDERR),
        diff=_text(folder, DIFF),
        folder=folder if folder.is_dir() else None,
        workspace=kept if kept.is_dir() and not kept.is_symlink() else None,
    )


def _trials(planned: Iterable[PlannedTrial], ledger: LedgerView) -> list[PlannedTrial]:
    """Those of the plan, then those that only the ledger knows."""
    trials = {trial.key: trial for trial in planned}
    return [*trials.values(), *(r for key, r in ledger.records.items() if key not in trials)]


def find(trials: list[PlannedTrial], name: str, run_dir: Path) -> PlannedTrial:
    """The one of ``trials`` that ``name`` names. Raises ``NoSuchTrial``."""
    exact = [trial for trial in trials if name in (trial.key, trial.node_id, _id(trial))]
    found = exact or [trial for trial in trials if name and trial.key.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        names = [f"{trial.key[:12]}  {_shown(trial)}" for trial in found]
        raise NoSuchTrial(f"{escape(name)} is the key of several trials:\n{_listed(names)}")
    import difflib

    ids = {_id(trial): _shown(trial) for trial in trials}
    near = difflib.get_close_matches(name, ids, n=3, cutoff=0.4) or list(ids)
    raise NoSuchTrial(
        f"{run_dir} has no trial {escape(name)}; give the beginning of a key, or an id such as:\n"
        + _listed([ids[one] for one in near])
    )


def _listed(names: list[str]) -> str:
    more = [f"  and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return "\n".join([*(f"  {name}" for name in names[:_NAMED]), *more])


def _id(trial: PlannedTrial) -> str:
    """The pytest id without the file."""
    return trial.node_id.rpartition("::")[2]


def _shown(trial: PlannedTrial) -> str:
    return escape(_id(trial))


def _text(folder: Path, name: str) -> str:
    return artefact(folder, name, _READ).decode("utf-8", "replace")
