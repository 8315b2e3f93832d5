"""Skills: what lies in the runtime's own folder of skills is told to the model."""

from __future__ import annotations

import pytest

from pytest_agentbench.conformance import tasks
from pytest_agentbench.conformance.conftest import Contract
from pytest_agentbench.conformance.rig import Rig
from pytest_agentbench.scenario.model import InputFile

_NAME = "conformance-tide-tables"
_ABOUT = "Reads the tide tables of the harbour at Aberwick. Use it for questions about tides."
_SKILL = f"---\nname: {_NAME}\ndescription: {_ABOUT}\n---\n\n# Tide tables\n\nLook into table 7.\n"


@pytest.mark.clause("skills.announced")
def test_announced(contract: Contract, rig: Rig) -> None:
    folder = getattr(rig.runtime, "skills_folder", "")
    if not folder:
        contract.idle("the adapter names no `skills_folder`: the runtime has no skills")
    skill = InputFile(dest=f"{folder}/{_NAME}/SKILL.md", content=_SKILL.encode())
    task = tasks.task("conformance-skill", (tasks.say("Hello."),), inputs=(*tasks.INPUTS, skill))
    seen = rig.run(task)
    first = seen.heard.requests[0]["body"] if seen.heard.requests else ""
    contract.holds(first, f"no request reached the gateway; {seen.ending}")
    contract.holds(
        _NAME in first, f"the first request says nothing of the skill {_NAME} in {folder}"
    )
