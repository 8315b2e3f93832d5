"""What a record keeps of each phase of its trial: how it went, and what became of skills in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.execution import Attempt, Execution, Usage, total
from pytest_agentbench.plain import plain
from pytest_agentbench.skill import GivenSkill, MadeSkill, Mutation, Role
from pytest_agentbench.status import Status
from pytest_agentbench.trial import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseFacts:
    """How one phase of a trial went. Times in seconds.

    ``graded`` is the phase whose grade is the trial's. ``score`` and ``strict`` are those of a
    phase whose workspace was graded, None of any other; ``judging`` is what judges of it used, None
    where none was to decide. ``mutation`` is None where no skill was to
    be left alone; ``outputs_written`` are files of the task's that an agent wrote when it was only
    to write a skill. ``kept`` tells that the phase was run in an earlier session of the run.
    """

    name: str
    status: Status
    seconds: float
    limit: float
    role: Role = "execute"
    graded: bool = True
    message: str = ""
    steps: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    score: float | None = None
    strict: bool | None = None
    judging: Usage | None = None
    attempts: tuple[Attempt, ...] = ()
    given: tuple[GivenSkill, ...] = ()
    made: tuple[MadeSkill, ...] = ()
    mutation: Mutation | None = None
    outputs_written: tuple[str, ...] = ()
    kept: bool = False

    @classmethod
    def of(cls, phase: Phase, execution: Execution) -> PhaseFacts:
        """What an execution says of its phase; of the graded one, the record says the rest."""
        return cls(
            name=phase.name,
            role=phase.role,
            graded=phase.graded,
            status=execution.status,
            message="" if phase.graded else execution.message,
            seconds=execution.seconds,
            limit=phase.seconds,
            steps=execution.trace.steps,
            tool_calls=len(execution.trace.calls),
            usage=execution.usage,
            attempts=() if phase.graded else execution.attempts,
            given=execution.given,
            mutation=execution.mutation,
        )

    @property
    def violations(self) -> tuple[str, ...]:
        """What the agent did that this phase was not for, in words."""
        told = []
        if self.mutation:
            changed = {
                "added": self.mutation.added,
                "edited": self.mutation.edited,
                "deleted": self.mutation.deleted,
            }
            told += [f"{what} {', '.join(paths)}" for what, paths in changed.items() if paths]
        if self.outputs_written:
            told.append(f"wrote {', '.join(self.outputs_written)}")
        return tuple(told)

    def to_json(self) -> dict[str, Any]:
        """What every phase has, and what else is not as it is by default."""
        return {
            name: plain(value)
            for name in _FIELDS
            if (value := getattr(self, name)) != _DEFAULTS.get(name, _ALWAYS)
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PhaseFacts:
        """Fields that are not there have their defaults; fields that are unknown are left out.

        Raises ``ValueError``.
        """
        from pytest_agentbench.decoder import decoded  # not of every session

        return decoded(cls, data)


def judging(observed: Mapping[str, Any]) -> Usage | None:
    """What judges used, as a record tells it in ``observed``; None where it does not."""
    said = observed.get("judging", {}).get("usage")
    if said is None:
        return None
    from pytest_agentbench.decoder import decoded  # not of every session

    return decoded(Usage, said)


def judged_before(observed: Mapping[str, Any], phases: Sequence[PhaseFacts]) -> dict[str, Any]:
    """``observed`` of the graded phase, with what judges of earlier ones used."""
    earlier = {phase.name: phase.judging for phase in phases if phase.judging is not None}
    if not earlier:
        return dict(observed)
    last = judging(observed)
    used = total([*earlier.values(), *([] if last is None else [last])])
    told = {**observed.get("judging", {}), "usage": plain(used), "phases": plain(earlier)}
    return {**observed, "judging": told}


_ALWAYS = object()
_FIELDS = tuple(PhaseFacts.__dataclass_fields__)
#: Of the fields that are left out where they say nothing.
_DEFAULTS = {
    name: field.default
    for name, field in PhaseFacts.__dataclass_fields__.items()
    if name not in ("name", "status", "seconds", "limit", "steps", "tool_calls", "usage")
}
