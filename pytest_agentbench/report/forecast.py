"""What a run will take, by what the same trials took before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import fsum
from pathlib import Path
from statistics import fmean

from pytest_agentbench.execution import Usage, total
from pytest_agentbench.phase_record import judging
from pytest_agentbench.record import Record
from pytest_agentbench.report.figures import compact, duration, many
from pytest_agentbench.report.ledger import LedgerError, read
from pytest_agentbench.trial import Trial

#: Ledgers looked at, the latest first: of what was long ago, prices and prompts were others.
_MOST = 20
Kind = tuple[str, str, str, str]


def earlier(reports: Path) -> list[Record]:
    """Graded records of the latest runs below ``reports``. What cannot be read is left out."""
    found: list[Record] = []
    for path in sorted(reports.glob("*/ledger.jsonl"), reverse=True)[:_MOST]:
        try:
            view = read(path)
        except (LedgerError, OSError):
            continue
        found += [record for record in view.records.values() if record.graded]
    return found


def forecast(trials: Sequence[Trial], records: Iterable[Record]) -> list[str]:
    """Tokens, cost and time of ``trials`` in words: means over records of the same scenario,
    runtime, model and mode. Nothing if there is no such record."""
    kinds: dict[Kind, list[Record]] = {}
    for record in records:
        kind = (record.scenario.id, record.runtime, record.model, record.mode)
        kinds.setdefault(kind, []).append(record)
    known = [
        kinds[kind]
        for trial in trials
        if (kind := (trial.scenario.id, trial.runtime.name, trial.model_name, trial.mode)) in kinds
    ]
    if not known:
        return []
    used = sum(map(len, {id(group): group for group in known}.values()))
    tokens = _sum(known, lambda record: _spent(record).total_tokens)
    cost = _sum(known, lambda record: _spent(record).cost_usd)
    seconds = _sum(known, _seconds)
    parts = (
        "tokens unknown" if tokens is None else f"{compact(tokens)} tokens",
        "cost unknown" if cost is None else f"${cost:,.2f}",
        f"{duration(seconds or 0.0)} of agents' time, to be shared among workers",
    )
    missing = len(trials) - len(known)
    scope = f"for {many(len(known), 'trial')}" if missing else "for all of them"
    rest = f"; {many(missing, 'trial')} have none" if missing > 1 else ""
    rest = "; 1 trial has none" if missing == 1 else rest
    return [f"forecast {scope}, from {many(used, 'earlier record')}: {', '.join(parts)}{rest}"]


def _spent(record: Record) -> Usage:
    """By the agents of all phases, and by judges."""
    said = judging(record.observed)
    return record.spent if said is None else total([record.spent, said])


def _seconds(record: Record) -> float:
    return fsum(phase.seconds for phase in record.phases) if record.phases else record.seconds


def _sum(groups: Iterable[list[Record]], figure: Callable[[Record], float | None]) -> float | None:
    """The means of the groups added up; None where one of them has no figure at all."""
    means = []
    for group in groups:
        known = [value for record in group if (value := figure(record)) is not None]
        if not known:
            return None
        means.append(fmean(known))
    return fsum(means)
