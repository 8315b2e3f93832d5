"""What pytest-agentbench itself costs, in CPU seconds and memory: see README.md beside this file.

    python benchmarks/overhead.py [--runs 5] [--trials 500] [collect trials import inactive memory]

The exit code is 1 when a median is above its bound.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from measure import (
    PYTHON,
    Command,
    Row,
    Sample,
    broken,
    folder,
    interleave,
    pytest_command,
    spend,
    table,
)
from suite import TABLE_CHECK, python_checks, write_suite, write_tests

FILES, TRIALS = 170, 9
MILLI = 1 / 1000
#: Writes what a worker has imported and how large it is, at three points of its life.
_PROBE = """\
import pathlib, sys

def write(when, config):
    if hasattr(config, "workerinput"):
        ours = sorted(name for name in sys.modules if name.startswith("pytest_agentbench"))
        pathlib.Path(f"{when}.modules").write_text(", ".join(ours))
        size = pathlib.Path("/proc/self/smaps_rollup").read_text()
        pathlib.Path(f"{when}.smaps").write_text(size)

def pytest_sessionstart(session):
    write("configured", session.config)

def pytest_collection_finish(session):
    write("collected", session.config)

def pytest_unconfigure(config):
    write("ended", config)
"""


def collect(runs: int, _: int) -> list[Row]:
    with folder() as root:
        write_suite(root, FILES)
        arguments = ("scenarios", "--runtime=nop", f"--trials={TRIALS}", "--collect-only")
        cost = interleave({"collect": pytest_command(root, *arguments)}, runs)["collect"]
    return [Row(name=f"collect {FILES * TRIALS:,} trials", unit="s", sample=cost, bound=1.0)]


def trials(runs: int, count: int) -> list[Row]:
    files = 50
    each = count // files
    count = each * files
    more = {"bare": "", "table": TABLE_CHECK, "one": python_checks(1), "four": python_checks(4)}
    with folder() as root:
        commands = {}
        for name, checks in more.items():
            write_suite(root / name, files, more_checks=checks)
            commands[name] = _run(root / name, "scenarios", f"--trials={each}")
        commands["collected"] = pytest_command(
            root / "bare", "scenarios", "--runtime=nop", f"--trials={each}", "--collect-only"
        )
        write_suite(root / "single", 1)
        commands["single"] = _run(root / "single", "scenarios")
        write_suite(root / "single-one", 1, more_checks=python_checks(1))
        commands["single-one"] = _run(root / "single-one", "scenarios")
        cost = interleave(commands, runs)
    server = cost["single-one"].minus(cost["single"])
    checked = cost["one"].minus(cost["bare"]).minus(server)

    def row(name: str, sample: Sample, per: float, bound: float | None = None) -> Row:
        return Row(name=name, unit="ms", sample=sample.over(per * MILLI), bound=bound)

    return [
        row("`nop` trial, fsync included", cost["bare"].minus(cost["collected"]), count, 5.0),
        row("its first Python checker", checked, count, 12.0),
        row("each further one", cost["four"].minus(cost["one"]), 3 * count, 12.0),
        row("its declared checks that need a child", cost["table"].minus(cost["bare"]), count),
        row("start of the checker server, once a worker", server, 1),
    ]


def imports(runs: int, _: int) -> list[Row]:
    with folder() as root:
        write_suite(root, 1)
        (root / "conftest.py").write_text(_PROBE)
        spend(_run(root, "-n1", "scenarios"))
        commands = {"": Command(argv=(PYTHON, "-c", "import pytest"), cwd=root)}
        for when in ("configured", "collected", "ended"):
            modules = (root / f"{when}.modules").read_text()
            commands[when] = Command(argv=(PYTHON, "-c", f"import pytest, {modules}"), cwd=root)
        cost = interleave(commands, 4 * runs)

    def row(name: str, when: str) -> Row:
        more = cost[when].minus(cost[""]).over(MILLI)
        # The plugin's import is what a run starts with; the later rows are what its work adds.
        bound = 60.0 if when == "configured" else None
        return Row(name=name, unit="ms", sample=more, bound=bound)

    return [
        Row(name="import pytest", unit="ms", sample=cost[""].over(MILLI)),
        row("more, when an active run starts", "configured"),
        row("more, when a worker has collected", "collected"),
        row("more, when it has run and graded", "ended"),
    ]


def inactive(runs: int, _: int) -> list[Row]:
    with folder() as root:
        write_tests(root, 1)
        commands = {
            "with": pytest_command(root, allowed=(1,)),
            "without": pytest_command(root, "-p", "no:agentbench", allowed=(1,)),
        }
        cost = interleave(commands, 4 * runs)
    more = cost["with"].minus(cost["without"])
    return [Row(name="a project that does not use it", unit="ms", sample=more.over(MILLI))]


def memory(runs: int, _: int) -> list[Row]:
    with folder() as root:
        write_suite(root / "ours", FILES)
        write_tests(root / "plain", FILES * TRIALS)
        stop = ("-n1", "-x")
        commands = {
            "ours": _run(root / "ours", "scenarios", f"--trials={TRIALS}", *stop),
            "plain": pytest_command(root / "plain", "-p", "no:agentbench", *stop, allowed=(1, 2)),
        }
        for command in commands.values():
            (command.cwd / "conftest.py").write_text(_PROBE)
        size = interleave(commands, runs, _pss)
    more = size["ours"].minus(size["plain"])
    return [
        Row(name="a worker with as many plain tests", unit="MiB", sample=size["plain"]),
        Row(
            name=f"a worker with {FILES * TRIALS:,} trials, more", unit="MiB", sample=more, bound=12
        ),
    ]


def _run(root: Path, *args: str) -> Command:
    """A run of ``nop``, which fails every trial.

    Without tracebacks: to list a failure pytest looks through the reports of all tests, and at 500
    failures that would be measured, too.
    """
    options = ("--runtime=nop", "--run-dir=run", "--tb=no")
    return pytest_command(root, *options, *args, allowed=(1, 2), remove=("run",))


def _pss(command: Command) -> float:
    """MiB of the worker's memory when it has collected; shared pages count in part."""
    spend(command)
    lines = (command.cwd / "collected.smaps").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


FIGURES: dict[str, Callable[[int, int], list[Row]]] = {
    "collect": collect,
    "trials": trials,
    "import": imports,
    "inactive": inactive,
    "memory": memory,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="What pytest-agentbench itself costs.")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="rounds (default: 5)")
    parser.add_argument("--trials", type=int, default=500, metavar="N", help="default: 500")
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(FIGURES))
    asked = parser.parse_args()
    unknown = [name for name in asked.figures if name not in FIGURES]
    if unknown:
        parser.error(f"unknown figure {unknown[0]!r}; allowed: {', '.join(FIGURES)}")
    rows = []
    for name in asked.figures or FIGURES:
        print(f"measuring: {name}", file=sys.stderr)
        rows += FIGURES[name](asked.runs, asked.trials)
    print(
        f"CPU seconds, median and range of {asked.runs} rounds; {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, pytest {version('pytest')}\n"
    )
    print(table(rows))
    for name in broken(rows):
        print(f"above its bound: {name}")
    return 1 if broken(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
