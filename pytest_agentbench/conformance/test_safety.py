"""Safety labels: what the runtime says that it can do, and what it is kept from."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from pytest_agentbench.conformance import tasks
from pytest_agentbench.conformance.conftest import Contract
from pytest_agentbench.conformance.rig import Rig
from pytest_agentbench.scenario.capability import CAPABILITIES


@pytest.mark.clause("safety.capabilities")
def test_capabilities(contract: Contract, rig: Rig) -> None:
    strange = [name for name in rig.info.capabilities if name not in CAPABILITIES]
    contract.holds(
        not strange, f"not in the registry: {', '.join(strange)}; it has {', '.join(CAPABILITIES)}"
    )


@pytest.mark.clause("safety.enforced")
def test_enforced(contract: Contract, rig: Rig) -> None:
    enforced = rig.first.execution.enforced
    contract.holds(
        enforced.get("sandbox") == rig.first.sandbox,
        f"the sandbox is {rig.first.sandbox}, and enforced is {dict(enforced)}",
    )


@pytest.mark.clause("safety.processes")
def test_processes(contract: Contract, rig: Rig) -> None:
    # A number that no other process of the machine is called with.
    mark = f"{86400 + secrets.randbelow(80000)}.{secrets.randbelow(10**9):09}"
    leave = f"setsid sleep {mark} </dev/null >/dev/null 2>&1 & echo left it"
    # However the run ends: a runtime may well take it amiss.
    seen = rig.run(tasks.task("conformance-leave", (tasks.shell(leave), tasks.say("Left."))))
    contract.holds(
        "left it" in seen.heard.results,
        f"no tool ran the command that leaves a process; {seen.ending}",
    )
    alive = [pid for pid, argv in _processes() if mark in argv]
    contract.holds(not alive, f"still alive: process {', '.join(alive)}, `sleep {mark}`")
    contract.holds(not seen.survivors, f"the sandbox could not end: {', '.join(seen.survivors)}")


@pytest.mark.clause("safety.outside")
def test_outside(contract: Contract, rig: Rig) -> None:
    seen = rig.first
    if seen.command is None or seen.run is None:
        contract.broken(f"there was no command; {seen.ending}")
    own = (seen.run.workspace, seen.run.home, seen.run.state, seen.run.home.parent)
    asked = [
        str(path)
        for path in seen.command.view.writable
        if not any(Path(path).resolve().is_relative_to(folder.resolve()) for folder in own)
    ]
    contract.holds(not asked, f"the adapter has it write to {', '.join(asked)}")


def _processes() -> list[tuple[str, list[str]]]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                argv = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue  # it ended meanwhile
            found.append((folder.name, [part.decode("utf-8", "replace") for part in argv]))
    return found
