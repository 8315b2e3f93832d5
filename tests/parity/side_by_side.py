"""One workspace graded in three ways: by the published code, in published scoring, by default."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Execution
from pytest_agentbench.files import remove
from pytest_agentbench.grading import published
from pytest_agentbench.grading.grader import Grader
from pytest_agentbench.scenario.load import load
from pytest_agentbench.scenario.model import InputFile, Scenario
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trace.events import Event, EventKind, Trace
from tests.parity import clawpro

#: In the published composite form, for what no scenario of the suite does.
OWN = """\
id: {name}
benchmark_group: intelligence
dimension: {dimension}
prompt: Read notes.txt.
timeout_seconds: 30
checks:
- {{id: said, type: response_contains, pattern: done}}
- {check}
"""
#: Grades as the published harness does, by its own code; in one process, in this order.
THEIRS = """
import json, sys
from pathlib import Path
sys.path.insert(0, ".")
from harness.loader import load_scenario
from harness.scoring import grade_scenario
for path, workspace, trace in json.load(sys.stdin):
    print(f"{grade_scenario(load_scenario(path), Path(workspace), trace).final_score:.4f}")
"""


@dataclass(slots=True)
class Bench:
    """Grades what is in a workspace under both scorings."""

    usual: Grader
    scratch: Path

    def both(
        self,
        scenario: Scenario,
        execution: Execution,
        line: Mapping[str, Any],
        figure: Callable[[Any], str] = lambda grade: f"{grade.score:.4f}",
    ) -> tuple[str, str]:
        root = self.scratch / "ws"
        clawpro.fill(root, scenario, line, self.usual.sandbox)
        said = []
        for as_published in (True, False):
            grader = replace(self.usual, as_published=as_published)
            try:
                said.append(figure(grader.grade(scenario, execution, root)))
            except TrialFault as fault:
                said.append(f"no score ({fault.status})")
        remove(root)
        return said[0], said[1]

    def theirs(
        self, suite: Path, *cases: tuple[Scenario, Execution, Mapping[str, Any]]
    ) -> list[str]:
        """What the published code itself gives, one case after the other in one process."""
        asked = []
        for number, (scenario, execution, line) in enumerate(cases):
            root = self.scratch / f"theirs-{number}"
            clawpro.fill(root, scenario, line, self.usual.sandbox)
            asked.append((str(scenario.path), str(root), published.trace_dict(execution)))
        env = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", THEIRS], input=json.dumps(asked), cwd=suite, env=env,
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        for number in range(len(cases)):
            remove(self.scratch / f"theirs-{number}")
        return done.stdout.split()

    def own(self, name: str, check: str, dimension: str) -> Scenario:
        path = self.scratch / f"{name}.yaml"
        path.write_text(OWN.format(name=name, check=check, dimension=dimension))
        return load(path)


UNTOUCHED: Mapping[str, Any] = {"files": {}, "deleted": []}
NOTHING = Execution(status=Status.COMPLETED)


def written(**files: str) -> dict[str, Any]:
    named = {name.replace("__", "."): {"text": text} for name, text in files.items()}
    return {"files": named, "deleted": []}


def told(*events: Event) -> Execution:
    return Execution(status=Status.COMPLETED, trace=Trace(events=events))


def blind(run: Execution) -> Execution:
    """The run as the published harness sees it: it drops the results of tools."""
    return told(*(e for e in run.trace.events if e.kind is not EventKind.RESULT))


def with_content(run: Execution, scenario: Scenario) -> Execution:
    """The run with what its reads really gave."""
    seed = {item.dest: item for item in scenario.inputs}
    paths = {e.call_id: e.args.get("path") for e in run.trace.calls}
    events = []
    for event in run.trace.events:
        source = seed.get(str(paths.get(event.call_id)))
        if event.kind is EventKind.RESULT and event.tool == "read" and source is not None:
            event = replace(event, text=content(source))
        events.append(event)
    return replace(run, trace=replace(run.trace, events=tuple(events)))


def content(source: InputFile) -> str:
    return source.read().decode()
