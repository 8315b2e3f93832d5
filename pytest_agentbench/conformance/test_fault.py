"""Provoked faults, and the agent's own endings that must never be taken for one."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from pytest_agentbench.conformance import tasks
from pytest_agentbench.conformance.conftest import Contract
from pytest_agentbench.conformance.faults import ENDINGS, FAULTS, Provoked
from pytest_agentbench.conformance.rig import Rig, Seen
from pytest_agentbench.conformance.watched import Misplaced, Struck
from pytest_agentbench.runtimes.protocol import Runtime
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.status import Status

#: Commands that take longer together than a run may, and fewer than a runtime lets pass in a turn.
_COMMANDS = 36


@pytest.mark.clause("fault.none")
def test_no_fault(contract: Contract, rig: Rig) -> None:
    seen = contract.done(rig.first)
    contract.holds(seen.score == 1.0, f"it scored {seen.score}: {'; '.join(seen.failed)}")


@pytest.mark.parametrize(
    "fault",
    [pytest.param(f, id=f.id, marks=pytest.mark.clause(f"fault.{f.id}")) for f in FAULTS],
)
def test_fault(contract: Contract, rig: Rig, fault: Provoked) -> None:
    seen = _provoke(rig, fault)
    contract.holds(seen.execution.status is fault.status, f"it ended as {seen.ending}; {fault.why}")
    graded = fault.status.policy.graded
    contract.holds((seen.score is not None) == graded, f"it has the score {seen.score}")
    if fault.scores:
        contract.holds(seen.score == 1.0, f"it scored {seen.score}: {'; '.join(seen.failed)}")
    if fault.strike:
        # Before the signal there was a command, so there is something to be graded.
        contract.holds(
            tasks.READY in seen.files, f"no command ran before the signal; {seen.ending}"
        )


@pytest.mark.parametrize(
    "ending",
    [pytest.param(e, id=e.id, marks=pytest.mark.clause(f"ending.{e.id}")) for e in ENDINGS],
)
def test_ending(contract: Contract, rig: Rig, ending: Provoked) -> None:
    seen = _provoke(rig, ending)
    contract.holds(
        seen.execution.status is ending.status, f"it ended as {seen.ending}; {ending.why}"
    )
    contract.holds(seen.score is not None, "it has no score")


def _provoke(rig: Rig, fault: Provoked) -> Seen:
    change: Callable[[Runtime], Runtime] | None = None
    task = tasks.WORK
    if fault.strike:
        task, change = tasks.STRUCK, functools.partial(_struck, signal=fault.strike)
    elif fault.misplaced:
        change = Misplaced
    elif fault.status is Status.AGENT_TIMEOUT:
        task = _long(rig.short)
    seconds = rig.short if fault.patient else rig.limit
    return rig.run(task, seconds=seconds, model=fault.model, change=change)


def _struck(runtime: Runtime, signal: str) -> Runtime:
    return Struck(runtime, tasks.READY, signal)


def _long(seconds: float) -> Scenario:
    """A task that takes twice as long."""
    each = 2 * seconds / _COMMANDS
    # Each a little different, since some runtimes stop what repeats itself.
    steps = (tasks.shell(f"sleep {each:.2f}; echo {number}") for number in range(_COMMANDS))
    return tasks.task("conformance-long", steps)
