"""What each sandbox adds to running ``true``, beside a bare spawn: milliseconds, interleaved.

Usage: python benchmarks/sandboxes.py [ROUNDS] [NAME...]. The exit code is 1 when one adds more than
its bound.
"""

from __future__ import annotations

import os
import resource
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
#: Milliseconds of CPU that a sandbox may add to a spawn. The wall clock of a busy machine tells more
#: of its neighbours.
BOUNDS = {"bwrap": 30.0, "bwrap, gateway": 30.0}


def main(rounds: int = 20, *names: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        cases = cases_in(Path(folder), names or NAMES)
        rows = {name: [measure(act) for _ in range(2)] for name, act in cases.items()}
        for _ in range(rounds):
            for name, act in cases.items():
                rows[name].append(measure(act))
    medians = {
        name: [statistics.median(values) for values in zip(*row[2:], strict=True)]
        for name, row in rows.items()
    }
    bare_wall, bare_cpu = medians["bare spawn"]
    broken = []
    print(f"{'':<18} {'wall':>8} {'added':>8} {'fastest':>8} {'CPU':>8} {'added':>8}")
    for name, (wall, cpu) in medians.items():
        fastest = min(wall for wall, _ in rows[name][2:])
        figures = (wall, wall - bare_wall, fastest, cpu, cpu - bare_cpu)
        print(f"{name:<18}", *(f"{figure:8.1f}" for figure in figures))
        if cpu - bare_cpu > BOUNDS.get(name, cpu):
            broken.append(f"{name} adds more than {BOUNDS[name]:g} ms of CPU")
    print(
        f"ms, medians of {rounds} rounds; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    for line in broken:
        print(line, file=sys.stderr)
    return bool(broken)


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
    before, began = cpu_seconds(), time.perf_counter()
    act()
    wall = time.perf_counter() - began
    return wall * 1e3, (cpu_seconds() - before) * 1e3


def cpu_seconds() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2]), *sys.argv[2:]))
