"""Shards of a run, run anywhere and in any order, become one run."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.options import SettingsError
from pytest_agentbench.report.plan import read_plan
from pytest_agentbench.shard import Shard, shard
from tests.project import Project

SLOW = """
[tool.agentbench.runtimes.slow]
adapter = "command"
argv = ["sh", "-c", "sleep 0.1"]
"""
DERIVED = ("plan.json", "ledger.jsonl", "report.json")


def files(folder: Path) -> dict[str, bytes]:
    """All files of a run by path, the lock apart."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def test_each_key_is_in_exactly_one_shard() -> None:
    keys = [f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}{'0' * 48}" for number in range(1000)]
    for of in (1, 2, 3, 7):
        counts = [
            [s.holds(key) for key in keys]
            for s in (Shard(number=n, of=of) for n in range(1, of + 1))
        ]
        assert [sum(column) for column in zip(*counts, strict=True)] == [1] * 1000
        assert min(map(sum, counts)) > 1000 / of * 0.8
    # By hand: 0x10 is 16, and 16 modulo 3 is 1, the second shard.
    assert shard("2/3").holds("0000000000000010" + "f" * 48)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2", "--shard: '2' is no shard; write I/N, such as 2/4 for the second of four"),
        ("a/4", "--shard: 'a/4' is no shard; write I/N, such as 2/4 for the second of four"),
        ("-1/4", "--shard: '-1/4' is no shard; write I/N, such as 2/4 for the second of four"),
        (
            "0/4",
            "--shard: '0/4': shards of 4 are numbered 1 to 4; where a launcher counts from 0, add 1",
        ),
        (
            "5/4",
            "--shard: '5/4': shards of 4 are numbered 1 to 4; where a launcher counts from 0, add 1",
        ),
        ("1/0", "--shard: '1/0': there must be at least one shard, such as 1/1"),
    ],
)
def test_what_is_no_shard_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        shard(text)
    assert str(caught.value) == message


def test_shards_know_the_whole_and_an_empty_one_is_no_failure(
    project: Project, workers: list[str]
) -> None:
    results = [project.bench(f"--shard={n}/9", f"--run-dir=s{n}", *workers) for n in range(1, 10)]
    assert [result.ret for result in results] == [0] * 9
    passed = [result.parseoutcomes().get("passed", 0) for result in results]
    assert sorted(passed) == [0] * 8 + [1]
    plans = {(project.path / f"s{n}" / "plan.json").read_bytes() for n in range(1, 10)}
    assert len(plans) == 1


def start(project: Project, number: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", "scenarios", "--runtime=slow", "--trials=10", "-q"]
    return subprocess.Popen(
        [*command, f"--shard={number}/4", f"--run-dir=shard{number}"],
        cwd=project.path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def test_four_shards_one_killed_and_restarted_merge_alike_in_any_order(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write("pyproject.toml", SLOW)
    project.scenario("other")
    running = {number: start(project, number) for number in (1, 2, 3, 4)}
    ledger = project.path / "shard3" / "ledger.jsonl"
    while not ledger.exists():
        assert running[3].poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    os.kill(running[3].pid, signal.SIGKILL)
    running[3].wait(timeout=60)
    assert start(project, 3).wait(timeout=120) == 1
    assert [running[number].wait(timeout=120) for number in (1, 2, 4)] == [1, 1, 1]

    def merged(name: str, *shards: int) -> dict[str, bytes]:
        out = project.path / name
        assert main(["merge", str(out), *(str(project.path / f"shard{n}") for n in shards)]) == 0
        return files(out)

    whole = merged("whole", 1, 2, 3, 4)
    assert capsys.readouterr().out.endswith("whole: 20 trials planned, 20 of them with a score\n")
    for place, order in enumerate(itertools.islice(itertools.permutations((1, 2, 3, 4)), 5, 24, 6)):
        assert merged(f"order{place}", *order) == whole
    # Step by step, and again into itself.
    merged("steps", 4, 2)
    merged("steps", 3)
    assert merged("steps", 1) == whole
    assert merged("steps", 2, 1) == whole
    assert main(["merge", str(project.path / "steps"), str(project.path / "steps")]) == 0
    assert files(project.path / "steps") == whole
    # What is in it: every planned trial once, with its evidence.
    plan = read_plan(project.path / "whole" / "plan.json")
    keys = [trial.key for trial in plan.trials]
    lines = [json.loads(line) for line in whole["ledger.jsonl"].splitlines()]
    scored = Counter(line["key"] for line in lines if line["event"] == "graded" and line["grade"])
    assert scored == dict.fromkeys(keys, 1)
    assert {name.split("/")[1] for name in whole if name.startswith("trials/")} == set(keys)
    report = json.loads(whole["report.json"])
    assert [trial["status"] for trial in report["trials"]] == ["completed"] * 20
    # Going on with the merged run finds nothing left to do.
    again = project.run("scenarios", "--runtime=slow", "--trials=10", "--run-dir=whole")
    again.assert_outcomes(failed=20)
    assert (project.path / "whole" / "ledger.jsonl").read_bytes() == whole["ledger.jsonl"]


def test_a_trial_that_was_run_twice_is_refused(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        project.bench(f"--run-dir={name}").assert_outcomes(passed=1)
    a, b, out = (str(project.path / name) for name in ("a", "b", "out"))
    assert main(["merge", out, a, b]) == 2
    key = read_plan(project.path / "a" / "plan.json").trials[0].key
    assert capsys.readouterr().err == (
        "agentbench merge: scenarios/shout.yaml::shout[oracle-baseline-t1] (key "
        f"{key[:12]}) has scores in {a} and {b} that are not the same: it was run in each of them. "
        "A trial counts once: leave out one of the folders\n"
    )
    # A copy that went on is no other run.
    shutil.copytree(a, project.path / "copy")
    project.bench("--run-dir=copy", "--trials=2").assert_outcomes(passed=2)
    assert main(["merge", out, a, str(project.path / "copy")]) == 0
    assert capsys.readouterr().out.endswith("2 trials planned, 2 of them with a score\n")


def test_changed_content_is_refused_with_the_part_that_differs(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.bench("--run-dir=a").assert_outcomes(passed=1)
    project.bench("--run-dir=b", "--timeout-multiplier=2").assert_outcomes(passed=1)
    a, b = str(project.path / "a"), str(project.path / "b")
    assert main(["merge", str(project.path / "out"), a, b]) == 2
    assert capsys.readouterr().err == (
        f"agentbench merge: {b} is no part of the same run: scenario 'shout': --timeout-multiplier "
        "(1.0 before, 2.0 now). Merge only what was run from the same scenarios, profiles and "
        "limits\n"
    )
    project.bench("--run-dir=c", "--view=clean").assert_outcomes(passed=1)
    assert main(["merge", str(project.path / "out"), a, str(project.path / "c")]) == 2
    assert capsys.readouterr().err == (
        "agentbench merge: the folders were begun with the primary views clean and "
        "clean_after_rerun; merge only what was begun with the same --view\n"
    )


def test_other_circumstances_are_warned_of(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.bench("--run-dir=a", "--trials=2", "--shard=1/2")
    project.bench("--run-dir=b", "--trials=2", "--shard=2/2")
    project.bench("--run-dir=a", "--trials=9", "--shard=1/2", "--sandbox=subreaper")
    project.bench("--run-dir=b", "--trials=9", "--shard=2/2", "--sandbox=none")
    assert main(["merge", *(str(project.path / name) for name in ("out", "b", "a"))]) == 0
    warnings = [x for x in capsys.readouterr().out.splitlines() if x.startswith("warning: ")]
    assert any(
        x.startswith("warning: oracle: sandbox is not the same in all trials: ") and "none (" in x
        for x in warnings
    )


def test_what_is_no_run_is_refused(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.bench().assert_outcomes(passed=1)
    project.write("notes/a.txt", "keep")
    run, notes = str(project.path / "run"), str(project.path / "notes")
    assert main(["merge", notes, run]) == 2
    assert capsys.readouterr().err == (
        f"agentbench merge: {notes} is there and holds no run; give a new folder\n"
    )
    assert main(["merge", str(project.path / "out"), run, notes]) == 2
    assert capsys.readouterr().err == (
        f"agentbench merge: {notes} has no plan.json; give the folder of a run\n"
    )
    assert not (project.path / "out" / "plan.json").exists()
