"""kill -9 at random instants: finished trials are kept, the next run completes the plan."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.project import Project

SEED = 20261130
TRIALS = 40
SLOW = """
[tool.agentbench.runtimes.slow]
adapter = "command"
argv = ["sh", "-c", "sleep 0.2"]
"""


def start(project: Project, *args: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", "scenarios", "--runtime=slow", "--run-dir=run"]
    return subprocess.Popen(
        [*command, f"--trials={TRIALS}", "-q", *args],
        cwd=project.path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []


def finished(project: Project) -> set[str]:
    if not (project.path / "run" / "ledger.jsonl").exists():
        return set()
    from pytest_agentbench.report.ledger import read

    view = read(project.path / "run" / "ledger.jsonl")
    return {key for key, record in view.records.items() if record.graded}


@pytest.mark.parametrize("target", ["pytest", "worker"])
def test_kill_9(project: Project, target: str, request: pytest.FixtureRequest) -> None:
    project.write("pyproject.toml", SLOW)
    draw = random.Random(SEED)
    kept: set[str] = set()
    for number in range(request.config.getoption("--kills")):
        workers = ["-n", "2"] if target == "worker" or number % 2 else []
        process = start(project, *workers)
        time.sleep(draw.uniform(0.3, 3.0))
        victims = children(process.pid) if target == "worker" else [process.pid]
        for victim in victims[:1]:
            os.kill(victim, signal.SIGKILL)
        process.wait(timeout=120)
        now = finished(project)
        assert kept <= now, "a finished trial was lost"
        kept = now
    assert start(project).wait(timeout=120) == 1
    assert len(finished(project)) == TRIALS
    graded = Counter(
        line["key"]
        for raw in (project.path / "run" / "ledger.jsonl").read_bytes().splitlines()
        if (line := _line(raw)) and line["event"] == "graded" and line["grade"]
    )
    assert set(graded.values()) == {1}, "a trial was run again after it was finished"


def _line(raw: bytes) -> dict[str, object] | None:
    import json

    try:
        return dict(json.loads(raw))
    except ValueError:
        return None
