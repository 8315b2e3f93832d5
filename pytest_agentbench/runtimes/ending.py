"""How a run ended, from its transcript and from how its process did."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pytest_agentbench.execution import Completed, Execution
from pytest_agentbench.gateway.report import provider_status
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import prompted
from pytest_agentbench.trace.transcript import Ending, Transcript
from pytest_agentbench.trial import AgentRun


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


def concluded(
    run: AgentRun, found: Transcript, done: Completed, flags: Iterable[str] = ()
) -> Execution:
    """What came of a run, with each flag once."""
    status, message = ended(found.ending, done)
    return Execution(
        status=status,
        message=message,
        trace=prompted(run.prompt, found.events),
        usage=found.usage,
        flags=tuple(dict.fromkeys(flags)),
    )


def printed(done: Completed) -> dict[str, Any]:
    """The JSON object that a program printed at its end; empty when it was killed before."""
    try:
        data = json.loads(done.stdout)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
