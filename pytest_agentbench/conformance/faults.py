"""Faults that the suite provokes, and the status that each must end in: one published table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.status import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Provoked:
    """One fault. ``model`` are options of the scripted model that bring it about.

    ``strike`` is a signal that ends the runtime's program in the middle of a command; with
    ``misplaced`` the adapter is told another folder than the workspace. ``patient`` says that the
    run is to reach its time limit, which is then a short one. ``scores`` says that the task must be
    solved all the same.
    """

    id: str
    how: str
    status: Status
    why: str
    model: Mapping[str, Any] = field(default_factory=dict)
    strike: str = ""
    misplaced: bool = False
    patient: bool = False
    scores: bool = False


_PROVIDER = Status.PROVIDER_ERROR

#: Shown in docs/conformance.md; a test holds the two against each other.
FAULTS: tuple[Provoked, ...] = (
    Provoked(
        id="429",
        how="each call is answered 429",
        status=_PROVIDER,
        why="the provider's limit, not the agent's",
        model={"fault": 429},
    ),
    Provoked(
        id="500",
        how="each call is answered 500",
        status=_PROVIDER,
        why="the provider failed",
        model={"fault": 500},
    ),
    Provoked(
        id="401",
        how="each call is answered 401",
        status=Status.AUTH_ERROR,
        why="the key was refused: no further trial would fare better",
        model={"fault": 401},
    ),
    Provoked(
        id="404",
        how="each call is answered 404: no such model",
        status=Status.AUTH_ERROR,
        why=(
            "the model that the run was told to ask is not there for this key; a name that the "
            "runtime made up itself would be its own `agent_error`"
        ),
        model={"fault": 404},
    ),
    Provoked(
        id="refused",
        how="each connection is closed without an answer",
        status=_PROVIDER,
        why="the provider cannot be reached",
        model={"fault": "refused"},
    ),
    Provoked(
        id="hang",
        how="the first call is never answered",
        status=_PROVIDER,
        why="the run spent most of its time waiting for one answer: that is no slow agent",
        model={"fault": "hang"},
        patient=True,
    ),
    Provoked(
        id="cut",
        how="each answer breaks off in the middle",
        status=_PROVIDER,
        why="half an answer is the provider's failure, whatever the runtime makes of it",
        model={"fault": "cut"},
    ),
    Provoked(
        id="malformed",
        how="each answer is broken JSON",
        status=_PROVIDER,
        why="no provider means that",
        model={"fault": "malformed"},
    ),
    Provoked(
        id="slow",
        how="the first two answers take 2 s longer, in ten parts",
        status=Status.COMPLETED,
        why="slow is not broken: the task is solved",
        model={"fault": {"kind": "slow", "calls": [1, 2], "seconds": 2}},
        scores=True,
    ),
    Provoked(
        id="huge",
        how="each answer has 32 MiB",
        status=_PROVIDER,
        why="no model says that much: the answer is of no use",
        model={"fault": "huge"},
    ),
    Provoked(
        id="empty",
        how="each answer is 200 with nothing in it",
        status=_PROVIDER,
        why="an answer that is none",
        model={"fault": "empty"},
    ),
    Provoked(
        id="overflow",
        how="each call is answered that the prompt is too long",
        status=Status.CONTEXT_EXHAUSTED,
        why="what a conversation holds is the agent's to keep small",
        model={"fault": "overflow"},
    ),
    Provoked(
        id="crash",
        how="the program gets SIGSEGV in the middle of a command",
        status=Status.AGENT_ERROR,
        why="a product that crashes has failed, and what it left is graded",
        strike="SEGV",
    ),
    Provoked(
        id="killed",
        how="the program gets SIGKILL in the middle of a command",
        status=Status.AGENT_ERROR,
        why=(
            "nobody can tell who sent a signal that the harness did not: if it excused a run, an "
            "agent in trouble could excuse itself with one `kill`"
        ),
        strike="KILL",
    ),
    Provoked(
        id="workspace",
        how="the adapter starts its program in another folder than the workspace",
        status=Status.HARNESS_ERROR,
        why="an agent that was sent to the wrong place did not fail at its task",
        misplaced=True,
    ),
)

#: What is the agent's own doing and must never be taken for a fault of the infrastructure.
ENDINGS: tuple[Provoked, ...] = (
    Provoked(
        id="agent_timeout",
        how="the agent goes on with one short command after the other",
        status=Status.AGENT_TIMEOUT,
        why="its model answered at once each time",
        patient=True,
    ),
    Provoked(
        id="context_exhausted",
        how="from the third call on the prompt is too long",
        status=Status.CONTEXT_EXHAUSTED,
        why="the conversation that it led is its own",
        model={"fault": {"kind": "overflow", "calls": list(range(3, 60))}},
    ),
    Provoked(
        id="refusal",
        how="the model declines",
        status=Status.REFUSAL,
        why="to decline is an answer",
        model={"policy": "refuse"},
    ),
)
