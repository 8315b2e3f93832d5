"""The status of a run from how its transcript ends and how its process did."""

from __future__ import annotations

from pytest_agentbench.execution import Completed
from pytest_agentbench.gateway.report import provider_status
from pytest_agentbench.status import Status
from pytest_agentbench.trace.transcript import Ending


def ended(ending: Ending | None, done: Completed) -> tuple[Status, str]:
    """The status, and why. An exit code is never enough for a success.

    ``ending`` is None where the transcript stops in the middle, or there is none.
    """
    if ending is None or (ending.status is Status.COMPLETED and done.exit_code != 0):
        said = done.stderr.decode("utf-8", "replace").strip()[-2000:]
        where = "before it was done" if ending is None else "after it was done"
        return Status.AGENT_ERROR, f"it ended {where}, with exit code {done.exit_code}: {said}"
    if ending.http is None:
        return ending.status, ending.message
    status = provider_status(ending.http, ending.message) or ending.status
    return status, f"the model answered {ending.http}: {ending.message}"
