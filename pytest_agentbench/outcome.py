"""The status of an execution: the adapter's word against what the harness saw itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentbench.execution import Completed, Execution
from pytest_agentbench.runtimes.protocol import RuntimeInfo
from pytest_agentbench.status import Status

if TYPE_CHECKING:
    from pytest_agentbench.gateway.report import LineReport

#: What shells and loaders answer for a program that cannot be run or found.
_NOT_STARTED = (126, 127)
#: The share of its time for which a run must have waited for one answer that never came to be the
#: provider's failure: an agent that is slow by itself asks again and again.
_SILENCE = 0.5
#: Refusals in a row after which it is the model that ended a run, however often it is asked again.
_FIRM = 3
_PROVIDER = (Status.PROVIDER_ERROR, Status.AUTH_ERROR)
_ENDED = (Status.COMPLETED, Status.AGENT_ERROR)
#: What a runtime may say when its model failed it.
_BLAMED = (Status.COMPLETED, Status.AGENT_ERROR, *_PROVIDER)


def classify(
    done: Completed, reported: Execution, info: RuntimeInfo, line: LineReport | None
) -> tuple[Status, str]:
    """The status of an execution and why, from the adapter's report and what we saw ourselves.

    Where the model was reached through the gateway, its last answer decides whose fault a
    failure is: an agent cannot blame the provider, nor hide that the provider failed.
    """
    if line and done.timed_out and line.waiting > done.seconds * _SILENCE:
        return Status.PROVIDER_ERROR, (
            f"stopped at the time limit, after {done.seconds:.1f} s, of which the model left it "
            f"waiting for {line.waiting:.1f} s without a word"
        )
    seen = line.fault if line else None
    if seen is not None and (done.timed_out or reported.status in _BLAMED):
        return seen
    if done.timed_out and line and line.refusals >= _FIRM:
        return Status.REFUSAL, (
            f"the model declined {line.refusals} times in a row, and was asked again until the time "
            f"limit, after {done.seconds:.1f} s"
        )
    if done.timed_out:
        return Status.AGENT_TIMEOUT, f"stopped at the time limit, after {done.seconds:.1f} s"
    if done.exceeded and reported.status is not Status.COMPLETED:
        return Status.AGENT_ERROR, f"it ran into a limit of the sandbox: {'; '.join(done.exceeded)}"
    if line and line.last and line.last.refused and reported.status in _ENDED:
        return Status.REFUSAL, reported.message or "the model declined"
    if (
        reported.status is Status.AGENT_ERROR
        and (done.exit_code in _NOT_STARTED or (line and not line.requests))
        and not reported.trace.acted
    ):
        return Status.SANDBOX_ERROR, (
            f"it did not start: exit code {done.exit_code} before it did anything; what it needs "
            "may be hidden by the sandbox: name it in `readable` of the runtime's profile, or try "
            f"--sandbox=subreaper ({reported.message})"
        )
    if line and line.requests and reported.status in _PROVIDER:
        return Status.AGENT_ERROR, reported.message
    if (
        reported.status is Status.COMPLETED
        and info.calls_model
        and not (line.requests if line else reported.trace.acted)
    ):
        # Where the gateway is the only way to a model, a transcript may say what it likes.
        return Status.EMPTY_TRACE, (
            "it ended as if all were well, but neither its transcript nor the gateway shows a "
            "model call"
        )
    return reported.status, reported.message
