"""Has what a trial left made into material, in a child of the checker server."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from pytest_agentbench.execution import Execution
from pytest_agentbench.grading.call import Showing
from pytest_agentbench.grading.client import CheckerServer, Crash
from pytest_agentbench.grading.judging.material import Budget, Material
from pytest_agentbench.redaction import Redactor
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.status import Status, TrialFault


def look(
    server: CheckerServer, scenario: Scenario, execution: Execution, workspace: Path
) -> Material:
    """What a judge is shown, without secrets of this machine: it goes to a provider.

    Raises ``TrialFault``.
    """
    asked = Showing(
        workspace=workspace, trace=execution.trace, inputs=scenario.inputs, budget=Budget()
    )
    answer = server.call(asked)
    if isinstance(answer, Crash):
        # A document that is made to exhaust its reader is not shown; all else is.
        answer = server.call(dataclasses.replace(asked, opens_documents=False))
    if isinstance(answer, Crash):
        raise TrialFault(
            Status.JUDGE_ERROR,
            f"scenario {scenario.id}: what the agent left cannot be shown to a judge: "
            f"{answer.message}",
        )
    if "fault" in answer.value:
        raise TrialFault(Status(answer.value["fault"]), answer.value["message"])
    return Material.from_json(Redactor.here().value(answer.value))
