"""A finished run graded again by other judges, from what it kept: no agent is run.

What needs no judge stays as it is, byte for byte. The result is a run folder of its own beside the old
one, with the same trials under the keys that they have with these judges.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_agentbench.flag import Flag
from pytest_agentbench.grade import CriterionVerdict, Grade
from pytest_agentbench.grading.decide import Judges
from pytest_agentbench.grading.docket import Docket
from pytest_agentbench.grading.judging.account import account, kin
from pytest_agentbench.grading.judging.decision import Decision
from pytest_agentbench.grading.judging.family import family
from pytest_agentbench.phase_record import judged_before
from pytest_agentbench.plain import plain
from pytest_agentbench.record import PlannedTrial, Record
from pytest_agentbench.redaction import Redactor
from pytest_agentbench.report import artefacts
from pytest_agentbench.report.cleaning import clean
from pytest_agentbench.report.ledger import encode
from pytest_agentbench.report.plan import save_plan
from pytest_agentbench.report.run import LEDGER, PLAN, RunError, read_run
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trace.canonical import parse_events
from pytest_agentbench.trace.events import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """One trial before and after; ``after`` has no grade where the judges gave no verdict."""

    before: Record
    after: Record

    @property
    def moved(self) -> bool:
        return self.before.grade != self.after.grade

    def verdicts(self) -> Iterator[tuple[CriterionVerdict, CriterionVerdict]]:
        """The verdicts on each criterion that judges decided both times."""
        said = [
            record.grade.rubric if record.grade else None for record in (self.before, self.after)
        ]
        before, after = ({v.id: v for v in each.verdicts} if each else {} for each in said)
        for name in before.keys() & after.keys():
            if before[name].source == after[name].source == "judge":
                yield before[name], after[name]


@dataclass(slots=True, kw_only=True)
class Regrade:
    """What came of it: trials that judges have a say in, and how many have none."""

    folder: Path
    trials: list[Again] = field(default_factory=list)
    others: int = 0
    #: Node ids of trials whose evidence is not there.
    without: list[str] = field(default_factory=list)


def regrade(run: Path, judges: Judges, into: Path) -> Regrade:
    """Grade ``run`` again into the new folder ``into``. Raises ``RunError`` and ``OSError``."""
    planned = {trial.key: trial for trial in read_run(run).plan.trials}
    if into.exists():
        raise RunError(f"{into} is there already; choose another folder with -o")
    into.mkdir(parents=True)
    found = Regrade(folder=into)
    keys: dict[str, str] = {}
    with (run / LEDGER).open("rb") as ledger, (into / LEDGER).open("wb") as out:
        for raw in ledger:
            line = _read(raw)
            if line is not None:
                out.write(_line(line, run, judges, into, planned, keys, found))
    plan = read_run(run).plan
    trials = (_rekeyed(trial, judges, keys) for trial in plan.trials)
    save_plan(into / PLAN, replace(plan, trials=tuple(trials)))
    return found


def _read(raw: bytes) -> Mapping[str, Any] | None:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return None  # torn
    return line if isinstance(line, dict) else None


def _line(
    line: Mapping[str, Any],
    run: Path,
    judges: Judges,
    into: Path,
    planned: Mapping[str, PlannedTrial],
    keys: dict[str, str],
    found: Regrade,
) -> bytes:
    """The line of the new ledger."""
    if line.get("event") != "graded" or line.get("key") not in planned:
        return encode({**line, "key": keys.get(str(line.get("key")), line.get("key"))})
    record = Record.from_json(line)
    folder = run / "trials" / record.key
    docket = read_docket(folder)
    after = record
    if docket is not None:
        after = _again(record, docket, judges)
        found.trials.append(Again(before=record, after=after))
    elif record.status is Status.JUDGE_ERROR or (record.grade and record.grade.rubric):
        found.without.append(record.node_id)
    else:
        found.others += 1
    keys[record.key] = after.key
    _keep(folder, into / "trials" / after.key, after)
    return encode(after.to_json())


def read_docket(folder: Path) -> Docket | None:
    """What a trial kept for its judges; None where there is nothing, or nothing that can be read."""
    data = artefacts.read(folder, artefacts.JUDGING)
    if not data:
        return None
    trace = Trace(events=parse_events(artefacts.read(folder, artefacts.TRACE)).events)
    try:
        return Docket.from_json(json.loads(data), trace)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _again(record: Record, docket: Docket, judges: Judges) -> Record:
    decision = judges.decide(docket)
    said = account(judges, docket, decision, family(record.model))
    values: dict[str, Any] = {
        "observed": _placed(record.observed, judged_before(said, record.phases)),
        "lock": _lock(record.lock, judges),
        "flags": _flags(record.flags, bool(kin(said.get("judging", {}).get("families", {})))),
    }
    if record.grade is None and record.phases:  # it ended while judges were asked
        values |= {"status": record.phases[-1].status, "message": ""}
    try:
        values["grade"] = _grade(record, docket, decision)
    except TrialFault as fault:
        values |= {"grade": None, "status": fault.status, "message": str(fault)}
    after = replace(record, **values)
    return clean(replace(after, key=_key(after)), Redactor.here())


def _grade(record: Record, docket: Docket, decision: Decision) -> Grade:
    """Raises ``TrialFault`` where what judges said leaves no score."""
    grade = docket.grade(decision)
    if record.grade is None or docket.hybrid or docket.scenario.policy == "rubric":
        return grade
    # The score is not theirs to move, though the trace that was kept may be cut.
    return replace(record.grade, rubric=grade.rubric)


def _placed(observed: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """``observed`` with what is said of judging now, in the place of what was."""
    kept = {
        name: said.get(name, value)
        for name, value in observed.items()
        if name in said or name not in ("judge", "judging", "undecided")
    }
    return {**kept, **{name: value for name, value in said.items() if name not in kept}}


def _flags(flags: tuple[str, ...], kin: bool) -> tuple[str, ...]:
    others = tuple(flag for flag in flags if flag != Flag.JUDGED_BY_KIN)
    if not kin:
        return others
    return flags if Flag.JUDGED_BY_KIN in flags else (*others, Flag.JUDGED_BY_KIN)


def _lock(lock: Mapping[str, str], judges: Judges) -> dict[str, str]:
    """``lock`` with these judges in the place of others; a run without any had none."""
    now = {name: value for name, value in lock.items() if name != "judge"}
    if judges.panel is not None:
        place = list(lock).index("judge") if "judge" in lock else len(now)
        items = list(now.items())
        items.insert(place, ("judge", judges.panel.identity))
        now = dict(items)
    return now


def _key(trial: PlannedTrial) -> str:
    """As ``trial.Trial.key``."""
    lock = dict(sorted(trial.lock.items()))
    parts = [trial.scenario.id, trial.runtime, trial.model, trial.mode, trial.index, lock]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _rekeyed(trial: PlannedTrial, judges: Judges, keys: Mapping[str, str]) -> PlannedTrial:
    if keys.get(trial.key, trial.key) == trial.key:
        return trial
    now = replace(trial, lock=_lock(trial.lock, judges))
    return replace(now, key=_key(now))


def _keep(folder: Path, into: Path, record: Record) -> None:
    """The same files, as links where that can be, with the new grade."""
    if not folder.is_dir():
        return
    shutil.copytree(folder, into, symlinks=True, copy_function=_link, dirs_exist_ok=True)
    name = into / artefacts.GRADE
    for old in (name, name.with_name(f"{name.name}.gz")):
        old.unlink(missing_ok=True)
    if record.grade is not None:
        artefacts.write_one(into, artefacts.GRADE, plain(record.grade), Redactor.here())


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
