"""A workspace in which a working checker must not crash."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest_agentbench
from pytest_agentbench.execution import Command, Execution, View
from pytest_agentbench.files import temporary
from pytest_agentbench.sandbox.protocol import Sandbox, search_path
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.status import Status
from pytest_agentbench.trace.canonical import read_events
from pytest_agentbench.trace.events import Trace, prompted
from pytest_agentbench.workspace import clear, materialise, run_setup

#: Scripts that run inside the sandbox; grading imports nothing of the runtimes.
_PLAYER = Path(pytest_agentbench.__file__).resolve().parent / "runtimes" / "player.py"
_SCRIPTS = (_PLAYER, _PLAYER.with_name("hands.py"), _PLAYER.with_name("pipe.py"))


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference answer, or the untouched workspace where there is none to be had."""

    workspace: Path
    execution: Execution
    name: str


@contextlib.contextmanager
def reference(scenario: Scenario, sandbox: Sandbox, parent: Path) -> Iterator[Reference]:
    """Play the solution in a folder of its own below ``parent``. Raises ``TrialFault``."""
    with temporary("reference-", parent) as folder:
        root = folder / "workspace"
        for path in (root, folder / "home", folder / "state"):
            path.mkdir()
        env = {
            "PATH": search_path(),
            "HOME": f"{folder}/home",
            "LANG": "C.UTF-8",
        }
        _prepare(scenario, root, sandbox, env)
        trace = _play(scenario, root, sandbox, env) if scenario.solution else None
        if trace is None:
            if scenario.solution:
                clear(root)
                root.mkdir()
                _prepare(scenario, root, sandbox, env)
            yield Reference(root, Execution(status=Status.COMPLETED), "the untouched workspace")
        else:
            execution = Execution(status=Status.COMPLETED, trace=trace)
            yield Reference(root, execution, "the reference answer")


def _prepare(scenario: Scenario, root: Path, sandbox: Sandbox, env: dict[str, str]) -> None:
    materialise(scenario.inputs, root)
    run_setup(scenario, root, sandbox, env)


def _play(scenario: Scenario, root: Path, sandbox: Sandbox, env: dict[str, str]) -> Trace | None:
    """The trace of the solution, or None when it could not be played to its end."""
    state = root.parent / "state"
    steps, events = state / "steps.json", state / "events.jsonl"
    steps.write_text(json.dumps([dataclasses.asdict(step) for step in scenario.solution]))
    argv = (sys.executable, "-I", "-S", str(_PLAYER), str(steps), str(events))
    view = View(writable=(root, root.parent / "home", state), readable=_SCRIPTS)
    done = sandbox.run(
        Command(argv=argv, cwd=root, env=env, timeout=scenario.timeout_seconds, view=view)
    )
    if done.exit_code != 0:
        return None
    return prompted(scenario.prompt, read_events(events).events)
