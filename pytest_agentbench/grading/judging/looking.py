"""Has what a trial left made into material, in a child of the checker server."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Execution
from pytest_agentbench.grading.call import Showing
from pytest_agentbench.grading.client import CheckerServer, Crash
from pytest_agentbench.grading.judging.material import Budget, Material
from pytest_agentbench.redaction import Redactor
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.status import Status, TrialFault

#: A folder of the harness's for one run, as its agent sees it (``sandbox.leftovers``).
_FOLDER = re.compile(r"(?:/[\w.+@~-]+)*/agentbench-[a-z0-9_]{8}(?![\w-])")


def look(
    server: CheckerServer, scenario: Scenario, execution: Execution, workspace: Path
) -> Material:
    """What a judge is shown, without secrets of this machine: it goes to a provider.

    The run's own folder is ``/run``: of the same done in another, the same is shown.

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
    return Material.from_json(Redactor.here().value(_anywhere(answer.value)))


def _anywhere(value: Any) -> Any:
    return json.loads(_FOLDER.sub("/run", json.dumps(value, ensure_ascii=False)))
