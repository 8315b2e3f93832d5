"""Run folders put together: the parts of one plan that several hosts have run."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_agentbench import files
from pytest_agentbench.record import PlannedTrial
from pytest_agentbench.report.change import changes, told
from pytest_agentbench.report.history import Attempt, History, histories
from pytest_agentbench.report.json_report import build
from pytest_agentbench.report.plan import Plan, alone, save_plan, write_json
from pytest_agentbench.report.replaced import replacing
from pytest_agentbench.report.run import LEDGER, PLAN, Run, read_run
from pytest_agentbench.report.sameness import differences

#: Folder of the evidence, by key.
_TRIALS = "trials"
_KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)
#: Folders that are told by name where there may be many.
_NAMED = 3


class MergeError(Exception):
    """Folders that are no parts of one run; the message is shown as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The run that the parts add up to, and what is worth knowing before it is read."""

    run: Run
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    run: Run
    lines: Mapping[str, History]
    #: Lines of no trial.
    others: frozenset[bytes]

    @property
    def name(self) -> str:
        return str(self.run.folder)


def merge(out: Path, folders: Sequence[Path]) -> Merged:
    """Put the runs in ``folders`` into ``out``, which may hold an earlier merge, or be one of them.

    The same runs give the same bytes in any order, and however often. Raises ``MergeError`` where
    they do not belong together, ``RunError`` for a folder that is no run, and ``OSError``.
    """
    if out.exists() and not (out / PLAN).is_file() and _holds_something(out):
        raise MergeError(f"{out} is there and holds no run; give a new folder")
    with alone(out):
        sources = [*folders, *([out] if (out / PLAN).is_file() else [])]
        parts = [_part(folder) for folder in {path.resolve(): path for path in sources}.values()]
        plan, warnings = _plan(parts)
        joined = {key: _history(key, parts) for key in _keys(plan, parts)}
        for key, history in joined.items():
            _copy_evidence(key, history, parts, out)
        with replacing(out / LEDGER) as file:
            file.writelines(sorted(frozenset[bytes]().union(*(part.others for part in parts))))
            for history in joined.values():
                file.writelines(history.lines())
        save_plan(out / PLAN, plan)
        run = read_run(out)
        write_json(out / "report.json", build(run.scoreboard, plan, run.view.records))
    return Merged(run=run, warnings=(*warnings, *differences(run.view.records.values())))


def _holds_something(out: Path) -> bool:
    # A merge that was refused leaves its lock.
    return not out.is_dir() or any(path.name != ".lock" for path in out.iterdir())


def _part(folder: Path) -> _Part:
    run = read_run(folder)
    lines, others = histories(folder / LEDGER)
    return _Part(run=run, lines=lines, others=others)


def _plan(parts: Sequence[_Part]) -> tuple[Plan, list[str]]:
    """All trials: as planned where all parts have the same plan, else sorted."""
    known: dict[tuple[str, str, str, str, int], PlannedTrial] = {}
    renamed = set()
    for part in parts:
        changed = changes(known.values(), part.run.plan.trials)
        if changed:
            raise MergeError(
                f"{part.name} is no part of the same run: {told(changed)}. Merge only what was "
                "run from the same scenarios, profiles and limits"
            )
        for trial in part.run.plan.trials:
            other = known.setdefault(trial.identity, trial)
            if replace(trial, node_id=other.node_id) != other:
                raise MergeError(
                    f"{part.name}: {trial.node_id} has the key {trial.key[:12]} that another folder "
                    "has with other facts of the scenario; merge only what was run from the same "
                    "files"
                )
            if trial.node_id != other.node_id:
                renamed.add(trial.scenario.id)
                known[trial.identity] = min(trial, other, key=lambda t: t.node_id)
    views = {part.run.plan.view for part in parts}
    if len(views) > 1:
        raise MergeError(
            f"the folders were begun with the primary views {' and '.join(sorted(views))}; merge "
            "only what was begun with the same --view"
        )
    orders = {tuple(trial.key for trial in part.run.plan.trials) for part in parts}
    trials = tuple(known.values() if len(orders) == 1 else (known[i] for i in sorted(known)))
    profiles = {part.run.plan.profile for part in parts}
    profile = profiles.pop() if len(profiles) == 1 else ""
    warnings = [
        f"{len(renamed)} scenarios have other pytest ids in other folders, such as {name}"
        for name in sorted(renamed)[:1]
    ]
    return Plan(trials=trials, profile=profile, view=views.pop()), warnings


def _keys(plan: Plan, parts: Iterable[_Part]) -> list[str]:
    """Of the plan, in its order; then of what only ledgers know."""
    planned = [trial.key for trial in plan.trials]
    found = {key for part in parts for key in part.lines}
    return [key for key in (*planned, *sorted(found.difference(planned))) if key in found]


def _history(key: str, parts: Sequence[_Part]) -> History:
    found = [(part, part.lines[key]) for part in parts if key in part.lines]
    scored = [(part, history.scored) for part, history in found if history.scored]
    every = frozenset[bytes]().union(*(lines for _, lines in scored))
    if scored and all(lines != every for _, lines in scored):
        names = sorted({part.name for part, _ in scored})[:_NAMED]
        shown = next(history.attempts[-1].node_id for _, history in found if history.attempts)
        raise MergeError(
            f"{shown} (key {key[:12]}) has scores in {' and '.join(names)} that are not the same: "
            "it was run in each of them. A trial counts once: leave out one of the folders"
        )
    return History.joined([history for _, history in found])


def _copy_evidence(key: str, history: History, parts: Sequence[_Part], out: Path) -> None:
    """Bring the evidence of the attempt that counts to ``out``."""
    chosen = history.counting
    if chosen is None or not _KEY.fullmatch(key):  # no other is made a path of
        return
    having = [part.run.folder for part in parts if _counts(part.lines.get(key), chosen)]
    target = out / _TRIALS / key
    there = [path for folder in having if _is_folder(path := folder / _TRIALS / key)]
    if not there or (out in having and _is_folder(target)):
        return
    beside = target.with_name(f".{key}.{os.getpid()}")
    files.remove(beside)
    try:
        # Links stay links: evidence may hold those of an agent's.
        shutil.copytree(min(there), beside, symlinks=True)
        files.remove(target)
        beside.replace(target)
    finally:
        files.remove(beside)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _counts(history: History | None, chosen: Attempt) -> bool:
    found = history.counting if history else None
    return found is not None and found.line == chosen.line
