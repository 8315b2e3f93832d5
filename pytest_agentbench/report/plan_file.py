"""A plan of any size, read trial by trial."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_agentbench.record import PlannedTrial
from pytest_agentbench.report.parsing import parsed
from pytest_agentbench.report.plan import (
    Plan,
    locks_of,
    plan_of,
    planned_trial,
    read_plan,
    reading,
)

_TRIALS = b'"trials": [\n'


class PlanFile:
    """``plan.json``: ``plan`` has no trials; those come by iteration, as often as one likes.

    A file that is laid out as ``write_json`` does it is read line by line, any other whole. Raises
    ``PlanError`` as ``read_plan`` does, and when it is iterated too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._whole: tuple[PlannedTrial, ...] | None = None
        with reading(path):
            head = _head(path)
            if head is None:
                plan = read_plan(path)
                self._whole, head = plan.trials, {"trials": ()}
                self.plan = Plan(profile=plan.profile, view=plan.view)
            else:
                self.plan = plan_of(path, head)
            self._locks = locks_of(head)

    def __iter__(self) -> Iterator[PlannedTrial]:
        if self._whole is not None:
            yield from self._whole
            return
        with self.path.open("rb") as file:
            while file.readline() != _TRIALS:
                pass
            with reading(self.path):  # what is raised where a trial is used does not come by here
                while (line := file.readline()).startswith(b"{"):
                    yield planned_trial(parsed(line.rstrip(b",\n")), self._locks)


def _head(path: Path) -> dict[str, Any] | None:
    """The plan without its trials; None when these are not laid out line by line."""
    lines = []
    inside = found = False
    with path.open("rb") as file:
        for line in file:
            if inside and line.startswith(b"{"):
                continue
            inside = line == _TRIALS
            found |= inside
            lines.append(line)
    if not found:
        return None
    head: dict[str, Any] = json.loads(b"".join(lines))
    return head if head["trials"] == [] else None
