"""End state and artefacts: what the agent made and said."""

from __future__ import annotations

import pytest

from pytest_agentbench.conformance import tasks
from pytest_agentbench.conformance.conftest import Contract
from pytest_agentbench.conformance.rig import Rig


@pytest.mark.clause("artefacts.files")
def test_files(contract: Contract, rig: Rig) -> None:
    seen = contract.done(rig.first)
    found = seen.files.get(tasks.OUT)
    if found is None:
        contract.broken(f"{tasks.OUT} is not there; there are: {', '.join(seen.files)}")
    # Tools may end a file with a newline, or not.
    contract.holds(
        found.decode("utf-8", "replace").rstrip("\n") == tasks.CONTENT.rstrip("\n"),
        f"{tasks.OUT} is {found[:200]!r}, not {tasks.CONTENT.encode()!r}",
    )
    draft = seen.files.get("draft.txt", b"")
    contract.holds(draft == b"colour: gray\nsize: 3\n", f"draft.txt is {draft[:200]!r}")


@pytest.mark.clause("artefacts.answer")
def test_answer(contract: Contract, rig: Rig) -> None:
    seen = contract.done(rig.first)
    said = seen.execution.trace.response
    contract.holds(tasks.ANSWER in said, f"it answered {tasks.ANSWER!r}; the trace has {said!r}")
