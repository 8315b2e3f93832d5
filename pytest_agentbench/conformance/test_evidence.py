"""Evidence: what process checks make of the trace, whatever the runtime calls its tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.conformance import tasks
from pytest_agentbench.conformance.conftest import Contract
from pytest_agentbench.conformance.rig import Rig, Seen
from pytest_agentbench.grading.check import evaluate
from pytest_agentbench.grading.evidence import Evidence

#: Something that nobody did.
_NEVER = {"writes": "never/written.txt"}

_DEEDS = {
    "read": ({"reads": "notes/a.txt"}, "notes/a.txt was read"),
    "write": ({"writes": tasks.OUT}, f"{tasks.OUT} was written"),
    "edit": ({"writes": "draft.txt"}, "draft.txt was edited"),
    "exec": ({"command": "wc -l"}, "a command was run"),
}


@pytest.mark.parametrize(
    "deed", [pytest.param(name, marks=pytest.mark.clause(f"evidence.{name}")) for name in _DEEDS]
)
def test_deed(contract: Contract, rig: Rig, deed: str) -> None:
    if deed in getattr(rig.runtime, "unmapped", ()):
        contract.idle(f"the adapter declares that the runtime has no way to {deed}")
    seen = contract.done(rig.first)
    if deed == "edit" and _edited_by_shell(seen):
        contract.idle("the runtime offers no tool for editing: a program did it through the shell")
    pattern, what = _DEEDS[deed]
    contract.holds(
        _before(seen, pattern, _NEVER), f"{what}, and no call shows it; there are: {_calls(seen)}"
    )


@pytest.mark.clause("evidence.order")
def test_order(contract: Contract, rig: Rig) -> None:
    seen = contract.done(rig.first)
    read, write = _DEEDS["read"][0], _DEEDS["write"][0]
    contract.holds(
        _before(seen, read, write),
        f"reading came before writing, and the check denies it; calls: {_calls(seen)}",
    )
    contract.holds(
        not _before(seen, write, read),
        f"reading came before writing, and the check sees it reversed; calls: {_calls(seen)}",
    )


def _edited_by_shell(seen: Seen) -> bool:
    """Whether the edit was a call of the tool that ran the failing command."""
    calls = [(call["name"], str(call["args"])) for call in seen.heard.calls]
    shells = {name for name, args in calls if tasks.COMPLAINT in args}
    return all(name in shells for name, args in calls if "gray" in args)


def _before(seen: Seen, first: dict[str, Any], then: dict[str, Any]) -> bool:
    assert seen.run is not None
    spec = tasks.check("happens_before", first=first, then=then)
    evidence = Evidence(
        workspace=Path(seen.run.workspace), trace=seen.execution.trace, inputs=tasks.INPUTS
    )
    return evaluate(spec, evidence).passed


def _calls(seen: Seen) -> str:
    told = (f"{call.tool} {dict(call.args)}"[:120] for call in seen.execution.trace.calls)
    return "; ".join(told) or "none"
