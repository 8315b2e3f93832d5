"""What each sandbox adds to running ``true``, beside a bare spawn: milliseconds, interleaved.

Usage: python benchmarks/sandboxes.py [ROUNDS] [NAME...]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pytest_agentbench.execution import Command, View
from pytest_agentbench.sandbox.registry import SandboxUnavailable, choose

NAMES = ("none", "subreaper", "unshare", "bwrap")
TRUE = ("/bin/true",)


def main(rounds: int = 50, *names: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cases = cases_in(Path(folder), names or NAMES)
        rows = {name: [measure(act) for _ in range(2)] for name, act in cases.items()}
        for _ in range(rounds):
            for name, act in cases.items():
                rows[name].append(measure(act))
    bare = statistics.median(wall for wall, _ in rows["bare spawn"])
    print(f"{'':<18} {'median':>8} {'added':>8} {'fastest':>8} {'CPU':>8}   ms, {rounds} rounds")
    for name, row in rows.items():
        walls = [wall for wall, _ in row[2:]]
        median, cpu = statistics.median(walls), statistics.median(cpu for _, cpu in row[2:])
        print(f"{name:<18} {median:8.1f} {median - bare:8.1f} {min(walls):8.1f} {cpu:8.1f}")


def cases_in(folder: Path, names: tuple[str, ...]) -> dict[str, Callable[[], object]]:
    work, gateway = folder / "work", folder / "gateway"
    work.mkdir()
    gateway.mkdir()
    cases: dict[str, Callable[[], object]] = {
        "bare spawn": lambda: subprocess.run(TRUE, check=True, capture_output=True)
    }
    for name in names:
        try:
            sandbox = choose(name).make()
        except SandboxUnavailable as problem:
            print(problem)
            continue
        for network in ("none", "gateway") if sandbox.forwards else ("none",):
            view = View(writable=(work,), network=network, gateway=gateway)
            command = Command(argv=TRUE, cwd=work, env={"LANG": "C.UTF-8"}, view=view)
            label = name if network == "none" else f"{name}, gateway"
            cases[label] = lambda sandbox=sandbox, command=command: sandbox.run(command)
    return cases


def measure(act: Callable[[], object]) -> tuple[float, float]:
    """Wall time and CPU time, of children too, in milliseconds."""
    before, began = os.times(), time.perf_counter()
    act()
    wall, after = time.perf_counter() - began, os.times()
    return wall * 1e3, sum(b - a for a, b in zip(before[:4], after[:4], strict=True)) * 1e3


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
