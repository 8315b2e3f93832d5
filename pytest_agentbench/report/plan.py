"""The plan: all trials that a run is meant to end with, as ``plan.json`` keeps them."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_agentbench.record import SCHEMA_VERSION, PlannedTrial, ScenarioFacts, plain


class PlanError(Exception):
    """A plan that cannot be read; the message is shown as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The trials of a run in the order in which they were collected.

    ``profile`` names the benchmark profile whose every scenario is planned, "" when the
    scenarios are no whole profile or nobody said so.
    """

    trials: tuple[PlannedTrial, ...] = ()
    profile: str = ""


def write_plan(path: Path, trials: Iterable[PlannedTrial], *, profile: str = "") -> Plan:
    """Add ``trials`` to the plan in ``path``, which another run may have begun, and return it.

    A trial takes the place of the one with the same scenario, runtime, model, mode and index:
    after a scenario was changed, records of its former version no longer count. The file is
    replaced in one step, and by one process at a time. Raises ``PlanError`` when the existing file
    is no plan.
    """
    added = {trial.identity: trial for trial in trials}
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parent):
        before = read_plan(path) if path.exists() else Plan()
        merged = {trial.identity: trial for trial in before.trials}
        whole = profile if not merged or profile == before.profile else ""
        plan = Plan(trials=tuple((merged | added).values()), profile=whole)
        write_json(
            path,
            {
                "schema": SCHEMA_VERSION,
                "profile": plan.profile,
                "trials": plain(plan.trials),
            },
        )
    return plan


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep out other processes that change the plan in ``folder``."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def read_plan(path: Path) -> Plan:
    """Raises ``PlanError`` for a file that is no plan, or of another schema."""
    try:
        data = json.loads(path.read_bytes())
        version = str(data["schema"])
        if version.partition(".")[0] != SCHEMA_VERSION.partition(".")[0]:
            raise PlanError(
                f"{path.name}: plan schema {version}; this version of pytest-agentbench reads "
                f"schema {SCHEMA_VERSION}. Read it with the version that wrote it, or choose "
                "another --run-dir"
            )
        return Plan(trials=tuple(map(_planned, data["trials"])), profile=data["profile"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlanError(
            f"{path.name}: not a plan of pytest-agentbench ({type(error).__name__}: {error}). "
            "Remove the file, or choose another --run-dir"
        ) from error


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Replace ``path`` by ``data`` in one step; the same data always give the same bytes.

    Each key stands on a line of its own, and so does each item of a list there.
    """
    text = "{\n" + ",\n".join(_line(key, data[key]) for key in sorted(data)) + "\n}"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _line(key: str, value: Any) -> str:
    # ``indent`` would take the encoder that is written in Python, and ten times as long.
    if isinstance(value, list) and value:
        return f'"{key}": [\n' + ",\n".join(map(_dumps, value)) + "\n]"
    return f'"{key}": {_dumps(value)}'


def _dumps(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _planned(data: Mapping[str, Any]) -> PlannedTrial:
    facts = data["scenario"]
    scenario = ScenarioFacts(**{**facts, "tags": tuple(facts["tags"])})
    return PlannedTrial(**{**data, "scenario": scenario})
