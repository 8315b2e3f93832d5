"""What a command costs: CPU seconds of it and of every process that it waited for."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

PYTHON = sys.executable
Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """``argv`` run in ``cwd``; of its exit codes, ``allowed`` are no failure.

    ``remove`` are folders below ``cwd`` that the command leaves and that its next run must not
    find.
    """

    argv: tuple[str, ...]
    cwd: Path
    allowed: tuple[int, ...] = (0,)
    remove: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sample:
    """A figure that was measured once a round."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def minus(self, other: Sample) -> Sample:
        """Round by round, so that what slowed the machine in a round slows both sides."""
        return Sample(tuple(a - b for a, b in zip(self.values, other.values, strict=True)))

    def over(self, divisor: float) -> Sample:
        return Sample(tuple(value / divisor for value in self.values))


def pytest_command(cwd: Path, *args: str, **kw: object) -> Command:
    """A run of pytest; plugins that this project does not bring are left out."""
    own = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    return Command(argv=(PYTHON, "-m", "pytest", "-q", *own, *args), cwd=cwd, **kw)  # type: ignore[arg-type]


def spend(command: Command) -> float:
    """Run to the end and return user and system CPU seconds of the whole process tree."""
    for name in command.remove:
        shutil.rmtree(command.cwd / name, ignore_errors=True)
    # Options of the caller's would be measured too, and modules compiled anew in every run.
    foreign = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONDONTWRITEBYTECODE")
    inherited = {name: value for name, value in os.environ.items() if name not in foreign}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command.argv,
            cwd=command.cwd,
            env={**inherited, **command.env},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in command.allowed:
            output.seek(0)
            said = output.read().decode("utf-8", "replace")[-3000:]
            raise SystemExit(f"{' '.join(command.argv)}: exit {process.returncode}\n{said}")
    return usage.ru_utime + usage.ru_stime


def interleave(
    commands: Mapping[Name, Command],
    runs: int,
    measure: Callable[[Command], float] = spend,
) -> dict[Name, Sample]:
    """Measure every command ``runs`` times, all of them once a round.

    A round before the first is thrown away: it compiles modules and warms caches.
    """
    rounds = [[measure(command) for command in commands.values()] for _ in range(runs + 1)]
    columns: Iterator[tuple[float, ...]] = zip(*rounds[1:], strict=True)
    return {name: Sample(column) for name, column in zip(commands, columns, strict=True)}


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="agentbench-cost-") as name:
        yield Path(name).resolve()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of a table. ``bound`` is the most that the project allows itself."""

    name: str
    unit: str
    sample: Sample
    bound: float | None = None


def table(rows: Iterable[Row]) -> str:
    """The rows as a table in Markdown."""
    head = ("what", "unit", "median", "range", "bound")
    lines = [head, tuple("-" * len(title) for title in head), *map(_cells, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(_line(line, widths) for line in lines)


def broken(rows: Sequence[Row]) -> list[str]:
    """The names of the rows whose median is above their bound."""
    return [row.name for row in rows if row.bound is not None and row.sample.median > row.bound]


def _cells(row: Row) -> tuple[str, ...]:
    low, high = min(row.sample.values), max(row.sample.values)
    bound = "" if row.bound is None else f"{row.bound:g}"
    return (row.name, row.unit, f"{row.sample.median:.2f}", f"{low:.2f} to {high:.2f}", bound)


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "| " + " | ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)) + " |"
