"""The skills of one run of an agent: lent to it, and taken stock of when it has ended."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.execution import Execution
from pytest_agentbench.skill import GivenSkill, Notice, Offer
from pytest_agentbench.skills.guard import Snapshot, mutation, snapshot
from pytest_agentbench.skills.place import notices, place
from pytest_agentbench.skills.use import seen


@dataclass(slots=True, kw_only=True)
class Loan:
    """What was lent, in ``folder``. ``before`` is how it lay there when the agent came."""

    folder: Path
    given: tuple[GivenSkill, ...] = ()
    notices: tuple[Notice, ...] = ()
    before: Snapshot | None = field(default=None)

    @classmethod
    def of(cls, offers: tuple[Offer, ...], workspace: Path, folder: str) -> Loan:
        """Lay skills into a workspace. Raises ``TrialFault``."""
        given = place(offers, workspace, folder)
        return cls(folder=workspace / folder, given=given, notices=notices(offers, folder))

    def begin(self) -> None:
        """From here on, what changes is the agent's doing."""
        self.before = snapshot(self.folder)

    def used(self, execution: Execution) -> Execution:
        """The execution with what is known of the use of each skill."""
        calls = execution.observed.get("model_calls", {})
        told = calls.get("first_request", {}).get("skills")
        known = None if told is None else tuple(told)
        found = seen(self.given, self.notices, known, execution.trace)
        return dataclasses.replace(execution, given=found)

    def returned(self, execution: Execution) -> Execution:
        """The execution with what the agent changed, if that was watched."""
        if self.before is None:
            return execution
        changed = mutation(self.before, snapshot(self.folder))
        return dataclasses.replace(execution, mutation=changed)
