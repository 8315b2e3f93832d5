"""What reports of large runs cost, in CPU seconds and memory: run with ``make bench-reports``.

Runs of made records are written below ``build/reports`` and reported by the command that people
type, each in a process of its own. Exit code 1 when a figure is above its bound.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from pytest_agentbench.execution import Usage
from pytest_agentbench.grade import CheckResult, Grade
from pytest_agentbench.plain import plain
from pytest_agentbench.record import PlannedTrial, Record, ScenarioFacts, closed_line
from pytest_agentbench.report.artefacts import PROMPT, TRACE
from pytest_agentbench.report.ledger import encode
from pytest_agentbench.report.plan import Plan, lock_name, save_plan
from pytest_agentbench.report.replaced import dumps
from pytest_agentbench.scenario.model import DIMENSIONS
from pytest_agentbench.status import Status
from pytest_agentbench.trace.canonical import to_json
from pytest_agentbench.trace.events import Event, EventKind

ROOT = Path(__file__).parent.parent / "build" / "reports"
SCENARIOS, TRIALS, CHECKS = 100, 10, 7
#: Trials, format, CPU seconds and MiB that are allowed; None is only measured.
CASES: tuple[tuple[int, str, float | None, float | None], ...] = (
    (1_000, "html", 5, None),
    (100_000, "json", 10, 500),
    (100_000, "csv", None, 500),
    (1_000_000, "json", None, None),
    (1_000_000, "csv", None, None),
)


def facts(number: int) -> ScenarioFacts:
    names = list(DIMENSIONS)
    return ScenarioFacts(
        id=f"scenario_{number:03}",
        name=f"Scenario number {number} of a made suite",
        dimension=names[number % len(names)],
        difficulty=("easy", "medium", "hard", "expert")[number % 4],
        family=f"family_{number // 3}" if number % 5 == 0 else "",
        tags=("made", "csv"),
    )


def planned(count: int) -> Iterator[PlannedTrial]:
    """``count`` trials: 100 scenarios, 10 trials of each, as many runtimes as that takes."""
    for number in range(count):
        index, rest = number % TRIALS + 1, number // TRIALS
        scenario, place = facts(rest % SCENARIOS), rest // SCENARIOS
        runtime, model = f"runtime_{place % 5}", f"model_{place // 5}"
        yield PlannedTrial(
            key=f"{number:064x}",
            node_id=f"scenarios/{scenario.dimension}/{scenario.id}.yaml::{scenario.id}"
            f"[{runtime}-{model}-baseline-t{index}]",
            scenario=scenario,
            runtime=runtime,
            adapter=runtime,
            model=model,
            mode="baseline",
            index=index,
        )


def ended(trial: PlannedTrial, rng: random.Random) -> Record:
    status = Status.PROVIDER_ERROR if rng.random() < 0.01 else Status.COMPLETED
    checks = tuple(
        CheckResult(
            id=f"check_{number}",
            type="json_path",
            points=2.0,
            earned=2.0 if passed else 0.0,
            passed=passed,
            category="safety" if number == 0 else "correctness",
            expected="about 1860",
            found="about 1860" if passed else f"{rng.randint(1000, 2000)}",
        )
        for number in range(CHECKS)
        for passed in (rng.random() < 0.8,)
    )
    share = sum(check.earned for check in checks) / (2.0 * CHECKS)
    grade = Grade(
        policy="composite",
        threshold=0.6,
        checks=checks,
        correctness=round(share, 4),
        process=1.0,
        gate=1.0,
        capability=round(share, 4),
        score=round(share, 4),
        loose=share,
        strict=share == 1.0,
        passed=share >= 0.6,
    )
    started = 1_800_000_000.0 + 60 * rng.random()
    return trial.end(
        status,
        message="the provider answered 503" if status is Status.PROVIDER_ERROR else "",
        grade=grade if status is Status.COMPLETED else None,
        steps=rng.randint(3, 40),
        tool_calls=rng.randint(2, 60),
        usage=Usage(
            input_tokens=rng.randint(10_000, 90_000),
            output_tokens=rng.randint(100, 9_000),
            requests=rng.randint(3, 40),
            cost_usd=round(rng.random(), 6),
        ),
        started=started,
        ended=started + 30,
        seconds=30 * rng.random(),
        sandbox="bwrap",
        enforced={"network": "none", "memory_mb": 2048, "by": "cgroup", "writable": ["workspace"]},
        observed={"plugin": "0.1.0", "version": "2026.9.6", "digest": "sha256:" + "0" * 64},
    )


def make(folder: Path, count: int, *, evidence: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    plan_of(folder / "plan.json", count)
    rng = random.Random(count)
    with (folder / "ledger.jsonl").open("wb") as file:
        for trial in planned(count):
            file.write(encode(ended(trial, rng).to_json()))
            file.write(encode(closed_line(trial.key, ())))
            if evidence:
                leave(folder / "trials" / trial.key, rng)


def plan_of(path: Path, count: int) -> None:
    """What ``save_plan`` writes of ``count`` trials, which need not fit into memory."""
    first, second = itertools.islice(planned(2), 2)
    save_plan(path, Plan(trials=(first, second)))
    head, trial, tail = path.read_text().partition(dumps({**plain(first), "lock": lock_name({})}))
    tail = tail.partition("\n]")[2]
    with path.open("w") as file:
        file.write(head)
        for number, each in enumerate(planned(count)):
            file.write(",\n" if number else "")
            file.write(dumps({**plain(each), "lock": lock_name({})}) if number else trial)
        file.write(f"\n]{tail}")


def leave(folder: Path, rng: random.Random) -> None:
    """Evidence of a trial: a prompt, forty events, two streams, a diff."""
    folder.mkdir(parents=True, exist_ok=True)
    events = [Event(kind=EventKind.USER, text="Do what is asked. " * 40, time=0.0)]
    for number in range(20):
        path = f"data/file_{rng.randint(0, 999)}.csv"
        events.append(
            Event(
                kind=EventKind.CALL,
                tool="read",
                args={"path": path},
                call_id=str(number),
                time=float(number),
                native_name="read_file",
            )
        )
        said = "".join(f"{rng.randint(0, 10**6)},{rng.random()}\n" for _ in range(30))
        events.append(
            Event(kind=EventKind.RESULT, tool="read", text=said, status=200, time=number + 0.5)
        )
    (folder / TRACE).write_text("".join(json.dumps(to_json(event)) + "\n" for event in events))
    (folder / PROMPT).write_text("Do what is asked. " * 40)
    (folder / "stdout").write_text("".join(f"line {rng.random()}\n" for _ in range(200)))
    diff = "".join(f"+{rng.random()},{rng.random()}\n" for _ in range(200))
    (folder / "workspace.diff").write_text(
        "--- a/out.csv\n+++ b/out.csv\n@@ -0,0 +1,200 @@\n" + diff
    )


def measure(folder: Path, kind: str) -> tuple[float, float, int]:
    """CPU seconds, MiB at the highest, and bytes of the report of ``kind``."""
    target = folder / f"measured.{kind}"
    argv = [sys.executable, "-c", _MEASURED, "report", str(folder), "--format", kind, "-o"]
    done = subprocess.run([*argv, str(target)], check=True, capture_output=True, text=True)
    cpu, memory = map(float, done.stderr.split()[-2:])
    return cpu, memory / 1024, target.stat().st_size


_MEASURED = """\
import resource, sys
from pytest_agentbench.cli import main
code = main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=1_000_000, help="trials of the largest run")
    most = parser.parse_args().most
    bad = 0
    print("| trials | format | CPU s | MiB | size MB |\n|---|---|---|---|---|")
    for count, kind, seconds, memory in CASES:
        if count > most:
            continue
        folder = ROOT / str(count)
        if not (folder / "ledger.jsonl").exists():
            make(folder, count, evidence=count <= 1_000)
        cpu, used, size = measure(folder, kind)
        bad += cpu > (seconds or cpu) or used > (memory or used)
        print(f"| {count:,} | {kind} | {cpu:.1f} | {used:.0f} | {size / 1e6:.1f} |", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
