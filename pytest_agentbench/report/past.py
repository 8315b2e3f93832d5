"""What a run folder holds when an invocation begins, and what of it is to be run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.options import SettingsError
from pytest_agentbench.record import PlannedTrial, Record
from pytest_agentbench.report.ledger import read
from pytest_agentbench.report.plan import PlanError, read_plan

INFRA, FAILED = "infra", "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """``finished`` are the records that stand, by key: trials with a score that is kept.

    ``again`` are keys of trials that have a score and are run nevertheless, ``named`` the trials
    that were asked for by name, and ``times`` how many records each key had.
    """

    finished: Mapping[str, Record] = field(default_factory=dict)
    again: frozenset[str] = frozenset()
    named: Mapping[str, PlannedTrial] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)


def past(run_dir: Path | None, rerun: Sequence[str] = ()) -> Past:
    """The past of the run in ``run_dir``; ``rerun`` is what ``--rerun`` was given.

    Raises ``SettingsError`` for a rerun of what is not there, and ``LedgerError``.
    """
    if run_dir is None:
        return Past()
    named = _named(run_dir, rerun)
    if not (run_dir / "ledger.jsonl").exists():
        return Past(named=named)
    view = read(run_dir / "ledger.jsonl")
    graded = {key: record for key, record in view.records.items() if record.graded}
    wanted = {trial.key for trial in named.values()}
    again = {
        key
        for key, record in graded.items()
        if key in wanted or (FAILED in rerun and not record.passed)
    }
    return Past(
        finished={key: record for key, record in graded.items() if key not in again},
        again=frozenset(again),
        named=named,
        times={key: len(records) for key, records in view.history.items()},
    )


def _named(run_dir: Path, rerun: Sequence[str]) -> Mapping[str, PlannedTrial]:
    if not rerun:
        return {}
    if not (run_dir / "plan.json").is_file():
        raise SettingsError(
            f"--rerun={rerun[0]}: the folder {run_dir.name!r} holds no run; give the folder of one "
            "with --run-dir=DIR"
        )
    # Only here: it knows all that is kept of a trial, which no worker needs otherwise.
    from pytest_agentbench.report.trial_view import NoSuchTrial, find

    try:
        trials = list(read_plan(run_dir / "plan.json").trials)
        names = (name for name in rerun if name not in (INFRA, FAILED))
        return {name: find(trials, name, Path(run_dir.name)) for name in names}
    except (NoSuchTrial, PlanError) as error:
        raise SettingsError(f"--rerun: {error}; or {INFRA}, or {FAILED}") from error
