"""The commands in docs/deploy, as they stand there, make one run of their shards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.project import Project

DEPLOY = Path(__file__).parent.parent / "docs" / "deploy"
ASKED = {"SCENARIOS": "scenarios", "RUNTIME": "oracle", "TRIALS": "3", "WORKERS": "0"}
SHARDS = 4


def run(argv: list[str], project: Project, **values: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        argv,
        cwd=project.path,
        env={**os.environ, "PATH": path, **values},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def check(run_dir: Path, shown: str) -> None:
    """All trials are in the merged run, and no shard had all of them."""
    report = json.loads((run_dir / "report.json").read_text())
    assert [trial["status"] for trial in report["trials"]] == ["completed"] * 9
    assert "9 trials planned, 9 of them with a score" in shown
    assert "graded" in shown
    sizes = [
        len(list((folder / "trials").iterdir())) if (folder / "trials").exists() else 0
        for folder in run_dir.parent.rglob("shard-*")
        if folder.is_dir()
    ]
    assert len(sizes) == SHARDS
    assert sum(sizes) == 9
    assert max(sizes) < 9


@pytest.fixture
def three(project: Project) -> Project:
    project.scenario("call")
    project.scenario("cry")
    return project


def test_the_array_of_slurm(three: Project) -> None:
    for number in range(1, SHARDS + 1):
        task = {
            "SLURM_ARRAY_TASK_ID": str(number),
            "SLURM_ARRAY_TASK_COUNT": str(SHARDS),
            "SLURM_ARRAY_JOB_ID": "77",
            "SLURM_CPUS_PER_TASK": "8",
        }
        run(["bash", str(DEPLOY / "slurm.sh")], three, **ASKED, **task)
    shown = run(["bash", str(DEPLOY / "slurm-merge.sh"), "77"], three)
    check(three.path / "runs" / "77" / "whole", shown)


def test_the_indexed_job_of_kubernetes(three: Project) -> None:
    job, merge = job_of("kubernetes.yaml"), job_of("kubernetes-merge.yaml")
    assert job["spec"]["completionMode"] == "Indexed"
    command, env = container_of(job)
    assert int(env["SHARDS"]) == job["spec"]["completions"] == SHARDS
    assert set(env) == {*ASKED, "SHARDS", "RUNS"}
    env |= ASKED | {"RUNS": "volume"}
    for index in range(SHARDS):
        run(command, three, **env, JOB_COMPLETION_INDEX=str(index))
    command, _ = container_of(merge)
    check(three.path / "volume" / "whole", run(command, three, RUNS="volume"))


def test_the_matrix_of_github_actions(three: Project) -> None:
    flow = yaml.safe_load((DEPLOY / "github-actions.yml").read_text("utf-8"))
    assert set(flow["env"]) == set(ASKED)
    numbers = flow["jobs"]["shard"]["strategy"]["matrix"]["shard"]
    assert numbers == list(range(1, SHARDS + 1))
    line = step(flow, "shard", "Run the shard")
    for number in numbers:
        said = {"matrix.shard": str(number), "strategy.job-total": str(len(numbers))}
        run(["bash", "-e", "-c", filled(line, said)], three, **ASKED)
    shown = run(["bash", "-e", "-c", step(flow, "report", "Merge")], three)
    check(three.path / "whole", shown)


def step(flow: Mapping[str, Any], job: str, name: str) -> str:
    return next(str(s["run"]) for s in flow["jobs"][job]["steps"] if s.get("name") == name)


def filled(line: str, said: Mapping[str, str]) -> str:
    for name, value in said.items():
        line = line.replace(f"${{{{ {name} }}}}", value)
    assert "${{" not in line
    return line


def job_of(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / name).read_text("utf-8")))


def container_of(job: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return container["command"], {entry["name"]: entry["value"] for entry in container["env"]}
