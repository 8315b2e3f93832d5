"""The status of an execution, and the one table that says what each status means."""

from __future__ import annotations

import enum
import errno
from dataclasses import dataclass
from typing import Literal

Counts = Literal["result", "infrastructure", "not run", "grader fault", "skip"]


class Status(enum.StrEnum):
    """How a trial ended. The values are part of the record format and never change meaning."""

    COMPLETED = "completed"
    AGENT_TIMEOUT = "agent_timeout"
    AGENT_ERROR = "agent_error"
    CONTEXT_EXHAUSTED = "context_exhausted"
    REFUSAL = "refusal"
    BUDGET_EXHAUSTED = "budget_exhausted"
    PROVIDER_ERROR = "provider_error"
    AUTH_ERROR = "auth_error"
    RUNTIME_MISSING = "runtime_missing"
    SANDBOX_ERROR = "sandbox_error"
    NO_SPACE = "no_space"
    HARNESS_ERROR = "harness_error"
    WORKER_LOST = "worker_lost"
    EMPTY_TRACE = "empty_trace"
    INTERRUPTED = "interrupted"
    NOT_STARTED = "not_started"
    CHECKER_ERROR = "checker_error"
    JUDGE_ERROR = "judge_error"
    UNSUPPORTED = "unsupported"

    @property
    def policy(self) -> Policy:
        return POLICIES[self]


@dataclass(frozen=True, slots=True)
class Policy:
    """What follows from a status.

    ``retried``: the harness may try the execution again by itself, within the same run.
    ``graded``: the trial has a score. ``counts``: the column in which reports show it.
    """

    retried: bool
    graded: bool
    counts: Counts


_RESULT = Policy(retried=False, graded=True, counts="result")
_TRANSIENT = Policy(retried=True, graded=False, counts="infrastructure")
_PERMANENT = Policy(retried=False, graded=False, counts="infrastructure")
_NOT_RUN = Policy(retried=False, graded=False, counts="not run")
_FAULT = Policy(retried=False, graded=False, counts="grader fault")

#: Published in docs/statuses.md; a test holds the two against each other.
POLICIES: dict[Status, Policy] = {
    Status.COMPLETED: _RESULT,
    Status.AGENT_TIMEOUT: _RESULT,
    Status.AGENT_ERROR: _RESULT,
    Status.CONTEXT_EXHAUSTED: _RESULT,
    Status.REFUSAL: _RESULT,
    Status.BUDGET_EXHAUSTED: _RESULT,
    Status.PROVIDER_ERROR: _TRANSIENT,
    Status.AUTH_ERROR: _PERMANENT,
    Status.RUNTIME_MISSING: _PERMANENT,
    Status.SANDBOX_ERROR: _TRANSIENT,
    Status.NO_SPACE: _TRANSIENT,
    Status.HARNESS_ERROR: _TRANSIENT,
    Status.WORKER_LOST: _TRANSIENT,
    Status.EMPTY_TRACE: _TRANSIENT,
    Status.INTERRUPTED: _NOT_RUN,
    Status.NOT_STARTED: _NOT_RUN,
    Status.CHECKER_ERROR: _FAULT,
    Status.JUDGE_ERROR: Policy(retried=True, graded=False, counts="grader fault"),
    Status.UNSUPPORTED: Policy(retried=False, graded=False, counts="skip"),
}


class TrialFault(Exception):
    """A trial that cannot be scored, and why: never the agent's doing.

    ``status`` is an ungraded one; the message is shown to people as it stands.
    """

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


def status_of(error: BaseException, otherwise: Status = Status.HARNESS_ERROR) -> Status:
    """``no_space`` for the error of a full disk or quota, else ``otherwise``."""
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return Status.NO_SPACE if full else otherwise
