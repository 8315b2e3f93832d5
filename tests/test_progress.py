"""How far a run is, and when it will be over."""

from __future__ import annotations

import heapq
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from random import Random

import pytest

from pytest_agentbench.record import PlannedTrial, ScenarioFacts
from pytest_agentbench.report.progress import Progress, kind_of
from tests.project import Project

TRIALS = 300
PASSED = {"status": "completed", "passed": True, "tokens": 1200, "cost_usd": 0.01}


def trial(number: int, scenario: str, limit: float = 600.0) -> PlannedTrial:
    return PlannedTrial(
        key=f"{number:064}",
        node_id=f"s/{scenario}.yaml::{scenario}[r-baseline-t{number}]",
        scenario=ScenarioFacts(id=scenario),
        runtime="r",
        adapter="r",
        model="",
        mode="baseline",
        index=number,
        limit=limit,
    )


def simulated(
    trials: list[PlannedTrial], takes: Callable[[PlannedTrial], float], workers: int, **known: float
) -> list[tuple[float, float | None]]:
    """After each end, how long it really still took and what was said."""
    kinds = {kind_of(t): known[t.scenario.id] for t in trials if t.scenario.id in known}
    progress = Progress(trials, workers, kinds)
    waiting = list(trials)
    running: list[tuple[float, str]] = []
    told, now = [], 0.0
    while waiting or running:
        while waiting and len(running) < workers:
            started = waiting.pop(0)
            progress.start(started.node_id, now)
            heapq.heappush(running, (now + takes(started), started.node_id))
        now, node_id = heapq.heappop(running)
        progress.end(node_id, now, PASSED)
        told.append((now, progress.left(now)))
    return [(now - at, said) for at, said in told]


def slow_at_the_end(slow_limit: float) -> tuple[list[PlannedTrial], Callable[..., float]]:
    """270 trials of about a minute, then 30 of about eight."""
    random = Random(20261130)
    quick = [trial(n, f"quick{n % 27}") for n in range(270)]
    slow = [trial(n, f"slow{n % 3}", slow_limit) for n in range(270, TRIALS)]
    noise = {t.key: random.lognormvariate(0.0, 0.25) for t in (*quick, *slow)}
    return [
        *quick,
        *slow,
    ], lambda t: (480 if t.scenario.id.startswith("slow") else 60) * noise[t.key]


def check(told: list[tuple[float, float | None]], workers: int) -> None:
    """Of what was said from half-way on: never off by a quarter.

    With so many workers that all slow trials run at once, the end is that of the slowest one, which
    nobody knows: there it is the time of the end, and else the time that is left.
    """
    whole = told[0][0]
    later = [(real, said) for real, said in told if real <= whole / 2]
    assert len(later) > 20
    for real, said in later:
        assert said is not None
        if workers == 32:
            assert abs(said - real) < whole / 4
        elif real > whole / 10:
            assert abs(said - real) < real / 4


@pytest.mark.parametrize("workers", [1, 4, 32])
def test_the_time_left_is_right_when_time_limits_tell_of_slow_trials(workers: int) -> None:
    trials, takes = slow_at_the_end(4800.0)
    check(simulated(trials, takes, workers), workers)


@pytest.mark.parametrize("workers", [1, 4, 32])
def test_the_time_left_is_right_when_earlier_runs_tell_of_slow_trials(workers: int) -> None:
    trials, takes = slow_at_the_end(600.0)
    known = {"slow0": 480.0, "slow1": 500.0, "slow2": 460.0}
    check(simulated(trials, takes, workers, **known), workers)


def test_what_nothing_is_known_of_is_unknown() -> None:
    progress = Progress([trial(1, "a", 0.0), trial(2, "b", 0.0)])
    assert progress.left(0.0) is None
    progress.start(progress.trials[0].node_id, 0.0)
    assert progress.line(1.0, 200) == "0/2, time left unknown; running: a[r-baseline-t1] 1 s"


def test_the_line_says_what_runs_and_fits() -> None:
    trials = [trial(n, "a") for n in range(1, 9)]
    progress = Progress(trials, workers=5)
    facts = [
        PASSED,
        {**PASSED, "passed": False, "cost_usd": None},
        {"status": "provider_error", "passed": None},
        {"status": "unsupported", "passed": None},
        None,
    ]
    for each, fact in zip(trials, facts, strict=False):
        progress.start(each.node_id, 0.0)
        progress.end(each.node_id, 60.0, fact)
    for each in trials[5:]:
        progress.start(each.node_id, 60.0)
    progress.end("another test", 61.0, None)
    line = progress.line(70.0, 400)
    assert line == (
        "5/8, 50% passed, 2 without a score, 2.4k tokens, $0.01+, 50 s left; running: "
        "a[r-baseline-t6] 10 s, a[r-baseline-t7] 10 s, a[r-baseline-t8] 10 s"
    )
    assert len(progress.line(70.0, 90)) <= 90
    assert progress.line(70.0, 40) == line[:40]


SLOW = """
[tool.agentbench.runtimes.slow]
adapter = "command"
argv = ["sleep", "1.4"]
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_terminal_gets_one_line_that_goes_and_no_dots(
    project: Project, workers: list[str]
) -> None:
    config = project.path / "pyproject.toml"
    config.write_text(config.read_text() + SLOW)
    project.scenario("whisper")
    shown = on_terminal(project, "--runtime=slow", "--runtime=oracle", *workers)
    assert re.search(r"\r\x1b\[K\d/4[^\n]*running: \w+\[slow-baseline-t1\]", shown)
    lines = [line.rpartition("\x1b[K")[2] for line in shown.split("\n")]
    assert not [line for line in lines if re.match(r"[.F]+", line) or "running:" in line]
    assert "agentbench scoreboard" in shown
    assert re.search(r"2 failed.*2 passed", shown)


def test_elsewhere_pytests_own_output_is_as_ever(project: Project) -> None:
    plain = project.bench("-q", "--progress=off")
    auto = project.bench("-q", "--run-dir=other")
    assert auto.stderr.str() == plain.stderr.str() == ""
    assert auto.outlines[0] == plain.outlines[0]
    assert "\r" not in auto.stdout.str()


def test_a_kind_that_there_is_not(project: Project) -> None:
    result = project.bench("--progress=loud")
    result.stderr.fnmatch_lines(
        ["*--progress: 'loud' is not known; allowed: auto, live, plain, off*"]
    )


def on_terminal(project: Project, *args: str) -> str:
    leader, follower = pty.openpty()
    argv = [sys.executable, "-m", "pytest", "scenarios", "--run-dir=run", *args]
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "140"}
    process = subprocess.Popen(
        argv, cwd=project.path, stdin=follower, stdout=follower, stderr=follower, env=env
    )
    os.close(follower)
    said = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the end, on Linux
            break
        if not piece:
            break
        said += piece
    os.close(leader)
    process.wait()
    return said.decode("utf-8", "replace")
