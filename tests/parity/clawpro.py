"""Holds grades of the published composite suite against those of its own harness.

Usage: python -m tests.parity.clawpro CLAWPRO VECTORS

CLAWPRO is a checkout of ClawProBench, VECTORS a folder with ``clawprobench_grading.jsonl.gz``: lines
with a workspace, a trace, and the grade that the published harness gave them.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Execution
from pytest_agentbench.files import remove
from pytest_agentbench.grade import Grade
from pytest_agentbench.grading.client import CheckerServer
from pytest_agentbench.grading.grader import Grader
from pytest_agentbench.sandbox import registry
from pytest_agentbench.scenario.load import load
from pytest_agentbench.scenario.model import Scenario, ScenarioError
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trace.events import Event, EventKind, Trace
from pytest_agentbench.workspace import materialise, run_setup

TOLERANCE = 1e-4
#: Of a grade ours to theirs.
FIGURES = {
    "correctness": "correctness",
    "process": "process",
    "gate": "safety_gate",
    "penalty": "efficiency_penalty",
    "capability": "capability",
    "score": "score",
}


def scenarios(suite: Path) -> dict[str, Scenario]:
    found = {}
    for path in sorted((suite / "scenarios").rglob("*.yaml")):
        try:
            scenario = load(path)
        except ScenarioError as error:
            print(f"not loaded: {error}")
            continue
        found[scenario.id] = scenario
    return found


def execution(line: Mapping[str, Any]) -> Execution:
    """The run that the line is about, as if a runtime had told it in its own words."""
    events = tuple(map(event, line["trace"]["events"]))
    audit = line["trace"].get("audit_state") or {}
    return Execution(status=Status.COMPLETED, trace=Trace(events=events, audit_state=audit))


def event(data: Mapping[str, Any]) -> Event:
    kind = EventKind(data["type"])
    args = data.get("args") or {}
    return Event(
        kind=kind,
        text=str(data.get("text") or data.get("result") or ""),
        tool=str(data.get("tool") or ""),
        args=args,
        native={"args": args} if args else {},
        native_name=str(data.get("tool") or ""),
        call_id=str(data.get("call_id") or ""),
        status=data.get("status"),
    )


def fill(root: Path, scenario: Scenario, line: Mapping[str, Any], sandbox: Any) -> None:
    root.mkdir()
    materialise(scenario.inputs, root)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(root), "TMPDIR": str(root.parent)}
    run_setup(scenario, root, sandbox, env)
    for name, content in line["files"].items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if "text" in content:
            path.write_text(content["text"], "utf-8")
        else:
            path.write_bytes(base64.b64decode(content["base64"]))
    for name in line["deleted"]:
        remove(root / name)


def differences(grade: Grade, result: Mapping[str, Any]) -> Iterator[str]:
    for ours, theirs in FIGURES.items():
        mine = getattr(grade, ours)
        if abs(mine - result[theirs]) > TOLERANCE:
            yield f"{ours} is {mine}, theirs {result[theirs]}"
    if grade.passed != result["passed_if_status_success"]:
        yield f"passed is {grade.passed}, theirs {result['passed_if_status_success']}"
    mine = {c.id: (c.points, c.earned, c.passed) for c in grade.checks}
    theirs = {c["id"]: (c["points"], c["earned"], c["passed"]) for c in result["checks"]}
    if list(mine) != list(theirs):
        yield f"checks are {list(mine)}, theirs {list(theirs)}"
        return
    for name, (points, earned, passed) in mine.items():
        if abs(points - theirs[name][0]) > TOLERANCE or abs(earned - theirs[name][1]) > TOLERANCE:
            yield f"{name}: {earned} of {points}, theirs {theirs[name][1]} of {theirs[name][0]}"
        if passed != theirs[name][2]:
            yield f"{name}: passed is {passed}, theirs {theirs[name][2]}"


def main(suite: Path, vectors: Path) -> int:
    known = scenarios(suite)
    sandbox = registry.choose("auto", {}).make()
    counts: Counter[str] = Counter()
    began = time.process_time()
    with (
        CheckerServer() as server,
        tempfile.TemporaryDirectory() as scratch,
        gzip.open(vectors / "clawprobench_grading.jsonl.gz", "rt") as file,
    ):
        grader = Grader(server, sandbox, as_published=True)
        usual = replace(grader, as_published=False)
        for number, text in enumerate(file, 1):
            line = json.loads(text)
            scenario = known.get(line["scenario_id"])
            if scenario is None:
                counts["without a scenario"] += 1
                continue
            root = Path(scratch) / "ws"
            fill(root, scenario, line, sandbox)
            told = f"{number} {scenario.id} ({line['kind']})"
            raises = "error_type" in line["result"]
            try:
                grade = (usual if raises else grader).grade(scenario, execution(line), root)
            except TrialFault as fault:
                counts[f"raising, by default: {fault.status}" if raises else "not graded"] += 1
                if not raises:
                    print(f"{told}: {fault.status}: {fault}"[:400])
            else:
                if raises:
                    counts["raising, by default: graded by the crash rule"] += 1
                    _unscored(grader, scenario, line, root, told, counts)
                elif found := list(differences(grade, line["result"])):
                    counts["differ"] += 1
                    print(f"{told}: {'; '.join(found)}"[:600])
                else:
                    counts["equal"] += 1
            remove(root)
    sandbox.close()
    for name, count in sorted(counts.items()):
        print(f"{count:6,} {name}")
    children = time.process_time() - began
    print(f"{children:6.1f} CPU s of this process")
    return 0 if not counts["differ"] + counts["not graded"] else 1


def _unscored(
    grader: Grader,
    scenario: Scenario,
    line: Mapping[str, Any],
    root: Path,
    told: str,
    counts: Counter[str],
) -> None:
    """In published scoring, what the published grader raises on has no score."""
    try:
        grader.grade(scenario, execution(line), root)
    except TrialFault as fault:
        counts[f"raising, published: {fault.status}"] += 1
    else:
        counts["raising, published: graded"] += 1
        print(f"{told}: graded, though the published grader raises")


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:3])))
