"""What of a plan is no longer what its run began with, part by part of the lock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_agentbench.record import PlannedTrial
from pytest_agentbench.text import escape

#: Changes that are told one by one.
_TOLD = 5
#: What people know a part of the lock by, where that is not its name.
_NAMES = {
    "runtime": "the profile of the runtime",
    "model": "the profile of the model",
    "timeout_multiplier": "--timeout-multiplier",
    "timeout_floor": "--timeout-floor",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The parts of a lock that differ, of all trials of a scenario that share them.

    ``parts`` has the name, what it was and what it is; "" where there is no such part.
    """

    scenario: str
    trials: int
    parts: tuple[tuple[str, str, str], ...] = ()

    def __str__(self) -> str:
        parts = [
            f"{_NAMES.get(name, name)} ({_value(before)} before, {_value(now)} now)"
            for name, before, now in self.parts
        ]
        what = ", ".join(parts) or "its content (the plan does not tell which)"
        return f"scenario {escape(self.scenario)!r}: {what}"


def changes(before: Iterable[PlannedTrial], after: Iterable[PlannedTrial]) -> tuple[Change, ...]:
    """What differs in trials that are the same by scenario, runtime, model, mode and index."""
    known = {trial.identity: trial for trial in before}
    found: dict[tuple[str, tuple[tuple[str, str, str], ...]], int] = {}
    for trial in after:
        was = known.get(trial.identity)
        if was is not None and was.key != trial.key:
            place = (trial.scenario.id, differing(was.lock, trial.lock))
            found[place] = found.get(place, 0) + 1
    return tuple(
        Change(scenario=scenario, trials=times, parts=parts)
        for (scenario, parts), times in found.items()
    )


def differing(
    before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[tuple[str, str, str], ...]:
    """Name, former and present value of each part of two locks that is not equal."""
    if not before:
        return ()
    return tuple(
        (name, before.get(name, ""), after.get(name, ""))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    )


def told(changed: Iterable[Change]) -> str:
    """The changes as text, the first few of many."""
    lines = [str(change) for change in changed]
    more = [f"and {len(lines) - _TOLD} more"] if len(lines) > _TOLD else []
    return "; ".join([*lines[:_TOLD], *more])


def refusal(changed: Iterable[Change]) -> str:
    """Why a run that has changed is not gone on with, and what can be done."""
    return (
        f"what this run began with has changed: {told(changed)}. Within a run all that a score "
        "depends on stays as it is: undo the change, choose another --run-dir, or give "
        "--accept-changes, which plans the new version in place of the old, whose records then "
        "count nowhere"
    )


def _value(value: str) -> str:
    if len(value) == 64:
        return value[:12]
    return escape(value) if value else "none"
