"""Runs on two hosts, one of which is cut off in the middle of it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pytest_agentbench.cli import main
from tests.cluster.host import Host
from tests.project import Project

TABLE = """
[tool.pytest.ini_options]
addopts = "-p no:cacheprovider"
[tool.agentbench.defaults]
claim_seconds = 6
[tool.agentbench.runtimes.slow]
adapter = "command"
argv = ["sh", "-c", "sleep 0.5"]
"""
TRIALS = 16


def command(project: Project, *args: str) -> str:
    python = f"env PYTHONPATH={shlex.quote(os.environ.get('PYTHONPATH', ''))} {sys.executable}"
    line = f"{python} -m pytest scenarios --runtime=slow --trials={TRIALS} --gate=none -q --tb=no"
    return f"cd {shlex.quote(str(project.path))} && exec {line} {' '.join(args)}"


def scored(run: Path) -> Counter[str]:
    if not (run / "ledger.jsonl").exists():
        return Counter()
    lines = [json.loads(x) for x in (run / "ledger.jsonl").read_bytes().splitlines() if x]
    return Counter(line["key"] for line in lines if line.get("grade"))


def wait_until_some(run: Path, process: subprocess.Popen[str], at_least: int) -> None:
    while len(scored(run)) < at_least:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)


def statuses(run: Path) -> list[str]:
    report = json.loads((run / "report.json").read_text())
    return [trial["status"] for trial in report["trials"]]


def test_shards_over_ssh_one_cut_off(
    project: Project, hosts: Sequence[Host], tmp_path: Path
) -> None:
    project.write("pyproject.toml", TABLE)
    first, second = hosts
    here = [project.path / f"shard-{number}" for number in (1, 2)]
    a = first.start(command(project, "--shard=1/2", "--run-dir=shard-1"))
    b = second.start(command(project, "--shard=2/2", "--run-dir=shard-2"))
    wait_until_some(here[1], b, 1)
    second.cut_off()
    text, _ = a.communicate(timeout=120)
    assert a.returncode == 0, text
    b.communicate(timeout=120)
    assert b.returncode != 0
    # What of it is there is merged, and says that it is not all.
    whole = project.path / "whole"
    assert main(["merge", str(whole), *map(str, here)]) == 0
    assert 0 < len(scored(whole)) <= TRIALS
    second.join()
    again = second.start(command(project, "--shard=2/2", "--run-dir=shard-2"))
    text, _ = again.communicate(timeout=120)
    assert again.returncode == 0, text
    assert main(["merge", str(whole), *map(str, here)]) == 0
    assert statuses(whole) == ["completed"] * TRIALS
    assert set(scored(whole).values()) == {1}


def test_claims_over_ssh_one_cut_off(project: Project, hosts: Sequence[Host]) -> None:
    """The folder is shared. Cut off, the second host is frozen too: it would go on otherwise."""
    project.write("pyproject.toml", TABLE)
    first, second = hosts
    run = project.path / "run"
    b = second.start(command(project, "--claim", "--run-dir=run"))
    wait_until_some(run, b, 1)
    frozen = second.processes()
    subprocess.run(["kill", "-STOP", *frozen], check=False)
    second.cut_off()
    begun = len(scored(run))
    time.sleep(7)  # beyond claim_seconds
    a = first.start(command(project, "--claim", "--run-dir=run"))
    text, _ = a.communicate(timeout=120)
    assert a.returncode == 0, text
    assert statuses(run) == ["completed"] * TRIALS
    assert begun < TRIALS
    second.join()
    subprocess.run(["kill", "-CONT", *frozen], check=False)
    b.communicate(timeout=120)
    assert set(scored(run).values()) == {1}
    assert len(scored(run)) == TRIALS


def test_xdist_over_ssh_one_cut_off(project: Project, hosts: Sequence[Host]) -> None:
    project.write("pyproject.toml", TABLE)
    run = project.path / "run"
    tx = [
        f"--tx=ssh={host.name}//ssh_config={host.config}//python={sys.executable}"
        f"//chdir={project.path / 'remote'}"
        f"//env:PYTHONPATH={os.environ.get('PYTHONPATH', '')}"
        for host in hosts
    ]
    (project.path / "remote").mkdir()
    argv = [sys.executable, "-m", "pytest", str(project.path / "scenarios"), "--runtime=slow"]
    argv += [f"--trials={TRIALS}", "--gate=none", "-q", "--tb=no", "--run-dir=run", "-d", *tx]
    argv += [f"--rsyncdir={project.path / 'scenarios'}", "--max-worker-restart=0"]

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            argv, cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    process = start()
    wait_until_some(run, process, 2)
    hosts[1].cut_off()
    text, _ = process.communicate(timeout=120)
    assert "INTERNALERROR" not in text, text
    # The other host ran all but what the lost one had.
    assert len(scored(run)) >= TRIALS - 1, text
    hosts[1].join()
    text, _ = start().communicate(timeout=180)
    assert statuses(run) == ["completed"] * TRIALS, text
    assert len(scored(run)) == TRIALS
