"""Control groups: what the limits on a whole tree are made of, where they may be made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.execution import Limits
from pytest_agentbench.sandbox.cgroup import Cgroup, Place, place


@pytest.fixture
def where() -> Place:
    found = place()
    if found is None:
        pytest.skip("this user may not make control groups here")
    return found


def groups(where: Place) -> list[Path]:
    """The groups of this process, which are gone when a command is."""
    mine = f".{os.getpid()}."
    folders = set(where.folders.values())
    return [path for folder in folders for path in folder.glob("agentbench.*") if mine in path.name]


def test_a_group_is_made_joined_and_removed(where: Place) -> None:
    with Cgroup(where, Limits(memory_mb=64, processes=9)) as group:
        assert group.enforces == ("memory_mb", "processes")
        assert groups(where)
        argv = (*group.join, "cat", "/proc/self/cgroup")
        said = subprocess.run(argv, capture_output=True, check=True, text=True).stdout
        assert "agentbench." in said
        assert group.exceeded() == ()
    assert groups(where) == []


def test_processor_time_is_that_of_all_members(where: Place) -> None:
    spin = "import time; end = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
    with Cgroup(where, Limits(cpu_seconds=9)) as group:
        for _ in range(2):
            subprocess.run([*group.join, sys.executable, "-I", "-S", "-c", spin], check=True)
        assert 0.4 <= group.cpu_seconds() < 4


def test_without_limits_there_is_no_group(where: Place) -> None:
    with Cgroup(where, Limits(file_mb=5)) as group:
        assert (group.join, groups(where)) == ((), [])


def test_what_is_left_in_a_group_is_killed(where: Place) -> None:
    with Cgroup(where, Limits(processes=9)) as group:
        process = subprocess.Popen([*group.join, "sleep", "60"])
        assert process.poll() is None
        while str(process.pid) not in Path(groups(where)[0], "cgroup.procs").read_text():
            assert process.poll() is None
    assert process.wait() == -9


LEAVE = """
import os, subprocess, sys
from pytest_agentbench.execution import Limits
from pytest_agentbench.sandbox.cgroup import Cgroup, place
group = Cgroup(place(), Limits(processes=9))
group.__enter__()
subprocess.run([*group.join, "sh", "-c", "exec setsid sleep 60 > /dev/null 2>&1 & echo $!"])
sys.stdout.flush()
os.kill(os.getpid(), 9)
"""


def test_the_next_run_ends_what_a_dead_one_left(where: Place) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    dead = subprocess.run([sys.executable, "-c", LEAVE], env=env, capture_output=True, check=False)
    left = Path("/proc", dead.stdout.decode().strip())
    assert (dead.returncode, left.exists()) == (-9, True)
    find = "from pytest_agentbench.sandbox.cgroup import place; place()"
    subprocess.run([sys.executable, "-c", find], env=env, check=True)
    assert (
        not left.exists() or left.joinpath("stat").read_text().rpartition(")")[2].split()[0] == "Z"
    )
    assert not [path for path in where.folders["pids"].glob("agentbench.*") if list_of(path) == []]


def list_of(group: Path) -> list[str]:
    """Members of a group; those of others that run now have some, or are about to."""
    return (group / "cgroup.procs").read_text().split() if group.is_dir() else ["gone"]
