"""What a sample costs in which nothing is done: here and in peers, in one interleaved run.

    python benchmarks/peers.py [--runs 5] [--samples 200]

Peers are installed into build/peers, one environment each; one that does not install is left out
with a line that says so. No model is called, and nothing but the package index is reached.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

from measure import PYTHON, Command, Row, folder, interleave, pytest_command, table
from suite import write_suite, write_tasks, write_tests

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE.parent / "build" / "peers"
PACKAGES = {"inspect": "inspect-ai", "harbor": "harbor"}
FILES = 10


def install(name: str, python: str) -> Path | None:
    """The interpreter of an environment with the peer in it, made if need be; None if it fails."""
    place = ENVIRONMENTS / name
    interpreter = place / "bin" / "python"
    asked = [PACKAGES[name], "--disable-pip-version-check", "--quiet"]
    try:
        if not interpreter.exists():
            subprocess.run([python, "-m", "venv", place], check=True)
        subprocess.run([interpreter, "-m", "pip", "install", *asked], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"left out: {PACKAGES[name]} cannot be installed with {python} ({error})")
        return None
    return interpreter


def release(interpreter: Path, package: str) -> str:
    """Version of a package in another environment, and of that environment's Python."""
    code = (
        "import importlib.metadata as m, platform, sys; "
        "print(m.version(sys.argv[1]), 'Python', platform.python_version())"
    )
    asked = (str(interpreter), "-c", code, package)
    said: str = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    return said.strip()


def ours(root: Path, count: int) -> Command:
    write_suite(root, min(FILES, count))
    trials = f"--trials={max(1, count // FILES)}"
    options = ("scenarios", "--runtime=nop", "--run-dir=run", "--gate=none", "--tb=no", trials)
    return pytest_command(root, *options, remove=("run",))


def plain(root: Path, count: int) -> Command:
    write_tests(root, count, "number >= 0")
    return pytest_command(root, "-p", "no:agentbench")


def inspect(python: Path, root: Path, count: int) -> Command:
    root.mkdir(parents=True)
    argv = (str(python), str(HERE / "peer_inspect.py"), str(count), "logs")
    return Command(argv=argv, cwd=root, remove=("logs",))


def harbor(python: Path, root: Path, count: int) -> Command:
    write_tasks(root / "tasks", count)
    run = "run --yes --quiet --path tasks --agent nop --env peer_harbor:Folder --n-concurrent 32"
    argv = (str(python.with_name("harbor")), *run.split(), "--jobs-dir", "jobs", "--job-name", "j")
    env = {"HARBOR_TELEMETRY": "0", "PYTHONPATH": str(HERE)}
    return Command(argv=argv, cwd=root, remove=("jobs",), env=env)


def main() -> int:
    parser = argparse.ArgumentParser(description="A sample in which nothing is done, and its cost.")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="rounds (default: 5)")
    parser.add_argument("--samples", type=int, default=200, metavar="N", help="default: 200")
    parser.add_argument(
        "--harbor-python", default=PYTHON, metavar="PROGRAM", help="Python 3.12 or newer"
    )
    asked = parser.parse_args()
    many = max(asked.samples // FILES, 2) * FILES
    kinds: dict[str, Callable[[Path, int], Command]] = {
        f"pytest-agentbench {version('pytest-agentbench')}": ours,
        f"pytest {version('pytest')}, a function": plain,
    }
    if (python := install("inspect", PYTHON)) is not None:
        name = f"Inspect {release(python, 'inspect-ai')}, no sandbox"
        kinds[name] = partial(inspect, python)
    if (python := install("harbor", asked.harbor_python)) is not None:
        name = f"Harbor {release(python, 'harbor')}, a folder"
        kinds[name] = partial(harbor, python)
    with folder() as root:
        commands = {
            (name, count): make(root / f"{number}-{count}", count)
            for number, (name, make) in enumerate(kinds.items())
            for count in (1, many)
        }
        cost = interleave(commands, asked.runs)
    rows = []
    for name in kinds:
        once, often = cost[name, 1], cost[name, many]
        each = often.minus(once).over((many - 1) / 1000)
        rows += [
            Row(name=f"{name}: start and one sample", unit="s", sample=once),
            Row(name=f"{name}: each further one", unit="ms", sample=each),
        ]
    print(
        f"CPU seconds, median and range of {asked.runs} rounds of {many} samples; "
        f"{os.cpu_count()} cores, Python {platform.python_version()}\n"
    )
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
