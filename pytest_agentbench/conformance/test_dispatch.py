"""Dispatch: what the program is told, where it is, and what it sees."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from pytest_agentbench.conformance import tasks
from pytest_agentbench.conformance.conftest import Contract
from pytest_agentbench.conformance.rig import Rig, Seen

_MARKER = "CONFORMANCE_MARKER"
_VALUE = "seen-by-the-caller-alone"


@pytest.fixture(scope="module")
def look(rig: Rig) -> Iterator[Seen]:
    """A run that says where it is, started by a caller with a variable of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(_MARKER, _VALUE)
        yield rig.run(tasks.LOOK)


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param(text, id=name, marks=pytest.mark.clause(f"dispatch.{name}"))
        for name, text in tasks.PROMPTS.items()
    ],
)
def test_prompt(contract: Contract, rig: Rig, prompt: str) -> None:
    seen = rig.run(tasks.task("conformance-prompt", (tasks.say("Hello."),), prompt=prompt))
    texts = seen.heard.first("user")
    contract.holds(texts, f"no request with a prompt reached the gateway; {seen.ending}")
    contract.holds(
        any(prompt in text for text in texts),
        f"sent {prompt[:120]!r} ({len(prompt):,} characters), and the user's last message in the "
        f"first request is {texts[-1][:200]!r} ({len(texts[-1]):,} characters)",
    )


@pytest.mark.clause("dispatch.workspace")
def test_workspace(contract: Contract, look: Seen) -> None:
    contract.done(look)
    told = re.search(r"this-is(?:\s|\\n)+([^\n\\]*)", look.heard.results)
    if told is None:
        contract.broken(f"no tool said where it is; tools said {look.heard.results[:300]!r}")
    assert look.run is not None
    wanted = str(look.run.workspace)
    contract.holds(told[1] == wanted, f"they start in {told[1]}, not in {wanted}")


@pytest.mark.clause("dispatch.environment")
def test_environment(contract: Contract, look: Seen) -> None:
    contract.done(look)
    contract.holds("that-was-all" in look.heard.results, "no tool said what its environment is")
    contract.holds(
        _MARKER not in look.heard.results and _VALUE not in look.heard.bodies,
        f"the variable {_MARKER} of the caller is there",
    )


@pytest.mark.clause("artefacts.own")
def test_own_files(contract: Contract, rig: Rig, look: Seen) -> None:
    from fnmatch import fnmatchcase

    contract.done(look)
    named: tuple[str, ...] = getattr(rig.runtime, "own_files", ())
    given = {item.dest: item.content for item in tasks.INPUTS}
    more = [
        name
        for name in look.files
        if name not in given and not any(fnmatchcase(name, glob) for glob in named)
    ]
    contract.holds(not more, f"beside what it was given there is: {', '.join(more[:20])}")
    changed = [name for name, content in given.items() if look.files.get(name) != content]
    contract.holds(not changed, f"it changed what it was given: {', '.join(changed)}")
