"""The plan: all trials that a run is meant to end with, as ``plan.json`` keeps them."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_agentbench.plain import plain
from pytest_agentbench.record import SCHEMA_VERSION, PlannedTrial
from pytest_agentbench.report.change import changes, refusal
from pytest_agentbench.report.replaced import pieces, replacing
from pytest_agentbench.views import DEFAULT_VIEW


class PlanError(Exception):
    """A plan that cannot be read or kept to; the message is shown as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The trials of a run in the order in which they were collected.

    ``profile`` names the benchmark profile whose every scenario is planned, "" when the
    scenarios are no whole profile or nobody said so. ``view`` is the one that was declared before
    the run to be reported first.
    """

    trials: tuple[PlannedTrial, ...] = ()
    profile: str = ""
    view: str = DEFAULT_VIEW


def check_plan(
    before: Plan,
    trials: Iterable[PlannedTrial],
    *,
    accept_changes: bool = False,
    view: str = "",
    scored: Container[str] | None = None,
) -> None:
    """Raise ``PlanError`` where ``trials`` or ``view`` are not what the run began with.

    ``view`` is "" where nobody asked for one. ``scored`` are the keys of trials that have a score,
    None for all: what has none may change, as a profile does that is mended after its runtime was
    missing.
    """
    bound = (trial for trial in before.trials if scored is None or trial.key in scored)
    changed = changes(bound, trials)
    if changed and not accept_changes:
        raise PlanError(f"plan.json: {refusal(changed)}")
    if view and before.trials and view != before.view:
        raise PlanError(
            f"plan.json: --view={view}: this run was begun with the primary view {before.view}, "
            "which is declared before a run and does not change; leave the option out, or choose "
            "another --run-dir"
        )


def write_plan(
    path: Path,
    trials: Iterable[PlannedTrial],
    *,
    profile: str = "",
    view: str = "",
    accept_changes: bool = True,
    scored: Container[str] | None = None,
) -> Plan:
    """Add ``trials`` to the plan in ``path``, which another run may have begun, and return it.

    A trial takes the place of the one with the same scenario, runtime, model, mode and index,
    whose records no longer count; without ``accept_changes`` that is refused where the lock
    differs and one of ``scored`` is replaced. The file is replaced in one step, and by one process at a time. Raises ``PlanError``
    when the existing file is no plan, or is refused by ``check_plan``.
    """
    added = {trial.identity: trial for trial in trials}
    with alone(path.parent):
        before = read_plan(path) if path.exists() else Plan()
        now = added.values()
        check_plan(before, now, accept_changes=accept_changes, view=view, scored=scored)
        merged = {trial.identity: trial for trial in before.trials}
        whole = profile if not merged or profile == before.profile else ""
        declared = before.view if merged else view or DEFAULT_VIEW
        plan = Plan(trials=tuple((merged | added).values()), profile=whole, view=declared)
        save_plan(path, plan)
    return plan


def save_plan(path: Path, plan: Plan) -> None:
    """Write ``plan`` as it is; the same plan always gives the same bytes."""
    names = [lock_name(trial.lock) for trial in plan.trials]
    locks = dict(zip(names, (trial.lock for trial in plan.trials), strict=True))
    trials = zip(plan.trials, names, strict=True)  # one at a time: every worker would hold them
    write_json(
        path,
        {
            "schema": SCHEMA_VERSION,
            "profile": plan.profile,
            "view": plan.view,
            "locks": [{"name": name, "parts": plain(locks[name])} for name in sorted(locks)],
            "trials": ({**plain(trial), "lock": name} for trial, name in trials),
        },
    )


def lock_name(lock: Mapping[str, str]) -> str:
    """By which trials with equal locks share one in the file."""
    return hashlib.sha256(json.dumps(plain(lock), sort_keys=True).encode()).hexdigest()[:16]


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep out other processes that change what is derived in the run's ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    # A file and not the folder, which network file systems do not lock.
    fd = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def read_plan(path: Path) -> Plan:
    """Raises ``PlanError`` for a file that is no plan, or of another schema."""
    with reading(path):
        return plan_of(path, json.loads(path.read_bytes()))
    raise AssertionError  # for type checkers, who think that ``with`` may swallow the error


def plan_of(path: Path, data: Mapping[str, Any]) -> Plan:
    """The plan that ``data`` in ``path`` describes; call it within ``reading``."""
    version = str(data["schema"])
    if version.partition(".")[0] != SCHEMA_VERSION.partition(".")[0]:
        raise PlanError(
            f"{path.name}: plan schema {version}; this version of pytest-agentbench reads "
            f"schema {SCHEMA_VERSION}. Read it with the version that wrote it, or choose "
            "another --run-dir"
        )
    locks = locks_of(data)
    return Plan(
        trials=tuple(planned_trial(trial, locks) for trial in data["trials"]),
        profile=data["profile"],
        view=data.get("view", DEFAULT_VIEW),
    )


def locks_of(data: Mapping[str, Any]) -> dict[str, Mapping[str, str]]:
    """The locks of a plan by their names there."""
    return {entry["name"]: entry["parts"] for entry in data.get("locks", ())}


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Make a ``PlanError`` of what goes wrong when ``path`` is read and is no plan."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PlanError(
            f"{path.name}: not a plan of pytest-agentbench ({type(error).__name__}: {error}). "
            "Remove the file, or choose another --run-dir"
        ) from error


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Replace ``path`` by ``data`` in one step; the same data always give the same bytes.

    Each key stands on a line of its own, and so does each item of a list, or of an iterator, there.
    """
    with replacing(path) as file:
        file.write(b"{\n")
        for place, key in enumerate(sorted(data)):
            file.write(b",\n" if place else b"")
            file.writelines(pieces(key, data[key]))
        file.write(b"\n}\n")


def planned_trial(data: Mapping[str, Any], locks: Mapping[str, Mapping[str, str]]) -> PlannedTrial:
    """One item of ``trials``. Raises ``ValueError`` and ``KeyError``."""
    from pytest_agentbench.decoder import decoded  # not of every session

    # A plan that was written before plans had locks names none.
    lock = locks[data["lock"]] if "lock" in data else {}
    return decoded(PlannedTrial, {**data, "lock": lock})
