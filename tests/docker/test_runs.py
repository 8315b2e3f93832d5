"""Whole runs of pytest in containers."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pytest_agentbench.sandbox import engine, owner
from pytest_agentbench.sandbox.docker import Docker

TRIALS = 32
ONE = """\
agentbench: 1
id: look
dimension: tool_use
difficulty: easy
prompt: Say what you see.
timeout_seconds: 300
checks:
  - {{id: seen, type: file_exists, path: seen.txt}}
solution:
  - exec: [bash, -c, {line}]
  - say: done
"""
#: Which token this trial has (its digest), and how many gateways and workspaces it can see.
LOOK = """\
python3 - >seen.txt <<'END'
import hashlib, json, os
with open(os.environ["HOME"] + "/../state/agent.json") as file:
    print(hashlib.sha256(json.load(file)["token"].encode()).hexdigest())
END
ls -d /tmp/agentbench-gw-* | wc -l >>seen.txt
cat seen.txt
"""
#: All agents start together: each trial waits for all others before its container is made.
TOGETHER = """\
import os, time
from pathlib import Path
import pytest

@pytest.fixture
def sandbox(sandbox):
    Path("ready", str(os.getpid())).touch()
    deadline = time.monotonic() + 240
    while len(os.listdir("ready")) < {trials}:
        assert time.monotonic() < deadline, "not all trials were there together"
        time.sleep(0.1)
    return sandbox
"""


def project(path: Path, line: str) -> None:
    (path / "scenarios").mkdir()
    (path / "scenarios" / "look.yaml").write_text(ONE.format(line=json.dumps(line)))
    (path / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\naddopts = '-p no:cacheprovider'\n"
        "[tool.agentbench.models.played]\nbackend = 'scripted'\n"
    )


def command(*args: str) -> list[str]:
    return [
        sys.executable, "-m", "pytest", "scenarios", "--runtime=minimal", "--model=played",
        "--sandbox=docker", "--run-dir=run", *args,
    ]  # fmt: skip


def containers() -> list[Any]:
    client = engine.connect()
    found = client.containers.list(all=True, ignore_removed=True, filters={"label": owner.OWNER})
    labels = [each.labels for each in found if each.status == "running"]
    client.close()
    return labels


def test_many_trials_at_once_have_each_a_gateway_of_their_own(tmp_path: Path) -> None:
    project(tmp_path, LOOK)
    (tmp_path / "conftest.py").write_text(TOGETHER.format(trials=TRIALS))
    (tmp_path / "ready").mkdir()
    began = time.monotonic()
    done = subprocess.run(
        command(f"--trials={TRIALS}", "-n", str(TRIALS), "-q"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"{TRIALS} trials at once: {time.monotonic() - began:.0f} s")
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    lines = [json.loads(line) for line in (tmp_path / "run/ledger.jsonl").read_text().splitlines()]
    graded = [line for line in lines if line["event"] == "graded"]
    closed = [line for line in lines if line["event"] == "closed"]
    assert len(graded) == len(closed) == TRIALS
    assert {line["sandbox"] for line in graded} == {"docker"}
    seen = []
    for trace in sorted(tmp_path.glob("run/trials/*/trace.jsonl")):
        said = trace.read_text()
        found = re.search(r"\\n([0-9a-f]{64})\\n(\d+)\\n", said)
        assert found, said
        seen.append(found.groups())
    assert len({token for token, _ in seen}) == TRIALS
    assert {gateways for _, gateways in seen} == {"1"}
    assert containers() == []


def test_after_a_killed_run_the_next_one_leaves_nothing_of_it(tmp_path: Path) -> None:
    project(tmp_path, "sleep 600")
    log = tmp_path / "log"
    argv = command("--trials=2", "-n", "2", "-q")
    with (
        log.open("w") as file,
        subprocess.Popen(argv, cwd=tmp_path, stdout=file, stderr=file) as controller,
    ):
        deadline = time.monotonic() + 120
        while len(found := containers()) < 2:
            assert controller.poll() is None, log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert {each[owner.RUN].partition(":")[0] for each in found} == {str(controller.pid)}
        workers = {int(each[owner.OWNER].partition(":")[0]) for each in found}
        assert len(workers) == 2
        assert controller.pid not in workers
        for pid in (controller.pid, *workers):
            os.kill(pid, signal.SIGKILL)
    assert len(containers()) == 2
    assert Docker.problem() == ""
    assert containers() == []
