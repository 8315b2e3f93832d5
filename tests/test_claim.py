"""Several invocations share a run folder: each trial is run by one of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from pytest_agentbench.claim import Claims
from tests.project import Project

TABLE = """
[tool.agentbench.defaults]
claim_seconds = {seconds}
[tool.agentbench.runtimes.slow]
adapter = "command"
argv = ["sh", "-c", "sleep {sleep}"]
"""
OTHER_HOST = '{"agentbench.owner": "1:1", "agentbench.run": "1:1", "agentbench.host": "elsewhere"}'


def claims(folder: Path, seconds: float = 60.0, **times: int) -> Claims:
    return Claims(folder / "claims", folder / "ledger.jsonl", seconds, times)


def test_one_takes_it_and_gives_it_up_at_the_end(tmp_path: Path) -> None:
    first, second = claims(tmp_path), claims(tmp_path)
    assert first.take("k")
    assert first.take("k")
    assert not second.take("k")
    assert second.take("other")
    assert not first.take("other")
    first.close()
    assert second.take("k")
    assert second.holds("k")
    assert not first.holds("k")
    second.close()


def test_what_has_a_score_by_now_is_not_run_again(tmp_path: Path) -> None:
    first = claims(tmp_path)
    assert first.take("k")
    line = {"event": "graded", "key": "k", "grade": {"score": 1.0}}
    (tmp_path / "ledger.jsonl").write_text(json.dumps(line) + "\n")
    first.close()
    second = claims(tmp_path)
    assert not second.take("k")
    # Unless the score was known, and it is to be run again nevertheless.
    third = claims(tmp_path, k=1)
    assert third.take("k")
    third.close()
    second.close()


def test_another_host_is_dead_once_it_gave_no_sign_of_life_for_long(tmp_path: Path) -> None:
    (tmp_path / "claims").mkdir()
    path = tmp_path / "claims" / "k"
    path.write_text(OTHER_HOST)
    mine = claims(tmp_path)
    assert not mine.take("k")
    os.utime(path, (time.time() - 59, time.time() - 59))
    assert not mine.take("k")
    os.utime(path, (time.time() - 62, time.time() - 62))
    assert mine.take("k")
    mine.close()


def test_it_gives_signs_of_life(tmp_path: Path) -> None:
    mine = claims(tmp_path, seconds=0.3)
    assert mine.take("k")
    begun = (tmp_path / "claims" / "k").stat().st_mtime_ns
    while (tmp_path / "claims" / "k").stat().st_mtime_ns == begun:
        time.sleep(0.02)
    mine.close()
    assert (tmp_path / "claims" / "k").stat().st_mtime == 0


def start(project: Project, *args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pytest", "scenarios", "--runtime=slow", "--run-dir=run"]
    return subprocess.Popen(
        [*command, "--claim", "--trials=10", "-q", "--tb=no", *args],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "140"},
    )


def scored(project: Project) -> Counter[str]:
    return Counter(record["key"] for record in project.records() if record["grade"])


def report(project: Project) -> list[str]:
    found = json.loads((project.path / "run" / "report.json").read_text())
    return [trial["status"] for trial in found["trials"]]


def test_invocations_share_a_folder_and_run_each_trial_once(
    project: Project, workers: list[str]
) -> None:
    project.write("pyproject.toml", TABLE.format(seconds=60, sleep=0.3))
    project.scenario("other")
    running = [start(project, *workers) for _ in range(2)]
    texts = [process.communicate(timeout=300)[0] for process in running]
    assert scored(project) == dict.fromkeys(scored(project), 1), texts
    assert len(scored(project)) == 20
    assert report(project) == ["completed"] * 20
    ran = [text.count("F") for text in texts]
    assert all(code.returncode in (0, 1) for code in running), texts
    assert any("left to others that share the run folder: " in t for t in texts), ran


@pytest.mark.parametrize("frozen", [False, True], ids=["killed", "frozen"])
def test_what_a_dead_one_had_claimed_is_taken_over(project: Project, frozen: bool) -> None:
    """A frozen one stands for a host that is cut off: it lives, and nobody hears of it."""
    project.write("pyproject.toml", TABLE.format(seconds=2, sleep=1.5))
    first = start(project, "--trials=3")
    folder = project.path / "run" / "claims"
    while not folder.exists() or len(list(folder.iterdir())) < 2:  # owners, and a claim
        assert first.poll() is None, first.communicate()[0]
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGSTOP if frozen else signal.SIGKILL)
    time.sleep(2.5 if frozen else 0)
    second = start(project, "--trials=3")
    text = second.communicate(timeout=120)[0]
    assert second.returncode == 1, text
    assert report(project) == ["completed"] * 3
    if frozen:
        os.kill(first.pid, signal.SIGCONT)
    first.communicate(timeout=120)
    # The one that came back found its trial taken, and did not write a second score.
    assert sorted(scored(project).values()) == [1, 1, 1]
    assert report(project) == ["completed"] * 3
