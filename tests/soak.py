"""A run that is killed again and again, and one whose disk is full: ``python -m tests.soak``.

A run of 300 trials is killed (SIGKILL) at random instants, its controller or one of its workers,
and gone on with, in round after round until there were as many kills as asked for. At the end of
each round every planned trial must have exactly one score, the one that it has in a run that
nobody disturbed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from pytest_agentbench.report.plan import read_plan
from tests.project import scenario_text
from tests.test_kill import children

SCENARIOS = ("shout", "call", "cry")
TABLE = """
[tool.pytest.ini_options]
addopts = "-p no:cacheprovider"
[tool.agentbench.models.toy]
backend = "scripted"
seed = {seed}
solve = {{ easy = 0.6, medium = 0.6, hard = 0.6, expert = 0.6 }}
"""
#: A small file system with room for a part of the trials, that is then made larger.
FULL = """
mount -t tmpfs -o size=700k none run && {run} >full.txt; echo $?
mount -o remount,size=200m run && {run} >again.txt; echo $?
cp -r run kept
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seed", type=int, default=20261130)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        project = Path(folder)
        (project / "scenarios").mkdir()
        for name in SCENARIOS:
            (project / "scenarios" / f"{name}.yaml").write_text(scenario_text(name))
        (project / "pyproject.toml").write_text(TABLE.format(seed=options.seed))
        each = options.trials // len(SCENARIOS)
        begun = time.monotonic()
        command("undisturbed", each, project).wait()
        truth = scores(project / "undisturbed")
        seconds = time.monotonic() - begun
        assert len(truth) == each * len(SCENARIOS), "the undisturbed run did not end"
        totals = row(project / "undisturbed")
        print(f"undisturbed: {len(truth)} trials in {seconds:.0f} s, {totals}", flush=True)
        draw, kills, rounds = random.Random(options.seed), Counter[str](), 0
        lost = 0
        while kills.total() < options.kills:
            rounds += 1
            run = project / f"round{rounds}"
            disturb(run, each, project, draw, kills, options.kills)
            found = scores(run)
            assert found == truth, f"round {rounds}: {difference(found, truth)}"
            assert row(run) == totals, f"round {rounds}: {row(run)}"
            lost += sum(line["status"] == "worker_lost" for line in lines(run))
            print(f"round {rounds}: {dict(kills)}, all {len(found)} trials scored once", flush=True)
        print(
            f"{kills.total()} kills ({kills['controller']} of the controller, {kills['worker']} of "
            f"a worker) in {rounds} rounds of {len(truth)} trials, seed {options.seed}: no score "
            f"lost, none twice, totals equal; {lost} attempts recorded as worker_lost"
        )
        print(full_disk(project))
    return 0


def command(
    run: str, each: int, project: Path, *more: str, **values: Any
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*argv(run, each), *more],
        cwd=project,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **values,
    )


def argv(run: str, each: int) -> list[str]:
    model = ["--runtime=minimal", "--model=toy", f"--trials={each}", f"--run-dir={run}"]
    return [sys.executable, "-m", "pytest", "scenarios", *model, "-q", "--tb=no", "-n", "2"]


def disturb(
    run: Path, each: int, project: Path, draw: random.Random, kills: Counter[str], most: int
) -> None:
    """Run until all is done, killing at random instants as long as there are kills left."""
    while True:
        process = command(run.name, each, project, "--max-worker-restart=10000")
        while process.poll() is None and kills.total() < most:
            try:
                process.wait(timeout=draw.uniform(0.1, 4.0))
            except subprocess.TimeoutExpired:
                target = draw.choice(("controller", "worker"))
                victims = workers(process.pid) if target == "worker" else [process.pid]
                if victims:
                    os.kill(draw.choice(victims), signal.SIGKILL)
                    kills[target] += 1
        code = process.wait(timeout=1800)
        if code in (0, 1) and len(scores(run)) == each * len(SCENARIOS):
            return


def workers(pid: int) -> list[int]:
    """Workers of xdist among the children, by how execnet starts them; the gateway is another."""
    found = []
    for child in children(pid):
        path = Path(f"/proc/{child}/cmdline")
        if path.exists() and b"sys.stdin.readline" in path.read_bytes():
            found.append(child)
    return found


def lines(run: Path) -> list[dict[str, Any]]:
    found = []
    for raw in (run / "ledger.jsonl").read_bytes().splitlines():
        try:
            line = json.loads(raw)
        except ValueError:
            continue  # torn by a kill
        if line["event"] == "graded":
            found.append(line)
    return found


def scores(run: Path) -> dict[str, tuple[str, float]]:
    """Status and score of each planned trial that has one; fails where one has two."""
    planned = {trial.key for trial in read_plan(run / "plan.json").trials}
    scored = [line for line in lines(run) if line["grade"]]
    twice = [key for key, times in Counter(line["key"] for line in scored).items() if times > 1]
    assert not twice, f"{run.name}: {len(twice)} trials have two scores"
    assert {line["key"] for line in scored} <= planned
    return {line["key"]: (line["status"], line["grade"]["score"]) for line in scored}


def row(run: Path) -> dict[str, Any]:
    report = json.loads((run / "report.json").read_text())
    (found,) = report["rows"]
    return {name: found[name] for name in ("planned", "graded", "passed", "score", "interval")}


def difference(found: dict[str, Any], truth: dict[str, Any]) -> str:
    changed = sum(found[key] != truth[key] for key in found.keys() & truth.keys())
    return f"{len(truth.keys() - found.keys())} trials without a score, {changed} with another"


def full_disk(project: Path) -> str:
    """Run on a file system that is full after some trials, then on the same with more room."""
    (project / "run").mkdir()
    run = " ".join([*argv("run", 20), "--sandbox=none"])
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", FULL.format(run=run)],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    codes = done.stdout.split()
    text = (project / "full.txt").read_text()
    assert codes in (["2", "0"], ["2", "1"]), f"{codes}: {text[-3000:]}{done.stderr}"
    assert "no space left" in text or "No space left" in text, text[-3000:]
    assert "INTERNALERROR" not in text, text[-3000:]
    found = scores(project / "kept")
    assert len(found) == 20 * len(SCENARIOS), len(found)
    assert "from an earlier run" not in text
    return f"full disk: stopped with exit code 2, and with more room all {len(found)} trials ended"


if __name__ == "__main__":
    sys.exit(main())
