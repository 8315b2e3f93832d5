"""kill -9 of a controller or a worker: the next start ends and removes all that it had left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_agentbench.sandbox import leftovers, owner
from tests.project import Project

#: Owns a folder and a command in a session of its own, then waits to be killed.
OWNER = """
import os, subprocess, sys
from pytest_agentbench.sandbox import leftovers, owner
folder = leftovers.folder("demo-")
(folder / "deep").mkdir(mode=0)
env = {owner.VARIABLE: owner.stamp(), "MARK": sys.argv[1]}
subprocess.Popen([sys.executable, "-I", "-S", "-c", sys.argv[2]], env=env, start_new_session=True)
print(folder, flush=True)
sys.stdin.read()
"""
SLEEPS = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(120)"
FORKS = """
import os, time
end = time.monotonic() + 60
while time.monotonic() < end:
    if os.fork(): os._exit(0)
    os.setsid(); time.sleep(0.002)
"""
#: Ignores TERM, and so does its daemon; both write to the workspace for as long as they live.
AGENT = """
import os, signal, time
for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
name = f"beat-{os.getpid()}"
end = time.monotonic() + 120
while time.monotonic() < end:
    open(name, "a").write(".")
    time.sleep(0.05)
"""


def marked(mark: str) -> list[int]:
    """The processes with ``mark`` in their environment, this one and the dead left out."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdecimal() and mark.encode() in (path / "environ").read_bytes():
                state = (path / "stat").read_text().rpartition(")")[2].split()[0]
                if state not in "ZX" and int(path.name) != os.getpid():
                    found.append(int(path.name))
        except OSError:
            continue
    return found


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files; whatever carries its name in its environment is ended."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    for pid in marked(str(folder)):
        os.kill(pid, signal.SIGKILL)


def start(temporary: Path, command: str = SLEEPS) -> tuple[subprocess.Popen[str], Path]:
    """An owner, and its folder."""
    # Not a worker of anybody's: it controls itself.
    alone = {name: text for name, text in os.environ.items() if "XDIST" not in name}
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(temporary), command],
        env={**alone, "TMPDIR": str(temporary), "MARK": "none"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


@pytest.mark.parametrize("command", [SLEEPS, FORKS], ids=["ignores TERM", "re-forks"])
def test_what_a_dead_owner_left_is_ended_and_removed(temporary: Path, command: str) -> None:
    process, folder = start(temporary, command)
    with process:
        assert str(leftovers.reap()) == ""
        assert folder.is_dir()
        process.kill()
    found = leftovers.reap()
    assert found.folders == 1
    assert found.processes >= 1
    assert not folder.exists()
    assert marked(str(temporary)) == []
    assert leftovers.reap() == leftovers.Reaped()


def test_a_worker_goes_before_its_agent_when_its_controller_is_dead(temporary: Path) -> None:
    process, folder = start(temporary)
    with process, subprocess.Popen(["sleep", "60"]) as controller:
        controlled = owner.labels()[owner.HOST], process.pid, controller.pid
        mine, run = (start_of(pid) for pid in controlled[1:])
        stamp = (folder / "owner").read_text()
        assert f'"{owner.OWNER}": "{mine}"' in stamp
        (folder / "owner").write_text(
            stamp.replace(f'"{owner.RUN}": "{mine}"', f'"{owner.RUN}": "{run}"')
        )
        assert str(leftovers.reap()) == ""
        controller.kill()
        controller.wait()
        assert leftovers.reap().folders == 1
        assert process.wait(timeout=20) == -signal.SIGKILL


def start_of(pid: int) -> str:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return f"{pid}:{fields[19]}"


def test_what_says_nothing_of_a_dead_owner_stays(temporary: Path, tmp_path: Path) -> None:
    dead = owner.stamp().replace(f'"{os.getpid()}:', '"1:')
    for name, stamp in (
        ("agentbench-none", None),
        ("agentbench-nonsense", "[" * 5000),
        ("agentbench-list", "[1]"),
        ("agentbench-elsewhere", dead.replace("pid:", "pid:9")),
        ("another", dead),
    ):
        (temporary / name).mkdir()
        if stamp is not None:
            (temporary / name / "owner").write_text(stamp)
    (tmp_path / "behind").mkdir()
    (tmp_path / "behind" / "owner").write_text(dead)
    (temporary / "agentbench-link").symlink_to(tmp_path / "behind")
    (temporary / "agentbench-pipe").mkdir()
    os.mkfifo(temporary / "agentbench-pipe" / "owner")
    before = sorted(temporary.iterdir())
    assert leftovers.reap() == leftovers.Reaped()
    assert sorted(temporary.iterdir()) == before
    (temporary / "agentbench-dead").mkdir()
    (temporary / "agentbench-dead" / "owner").write_text(dead)
    assert str(leftovers.reap()) == "1 folder"


def run(project: Project, temporary: Path, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "scenarios", "-p", "no:cacheprovider", *args],
        cwd=project.path,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.parametrize("sandbox", ["subreaper", "bwrap"])
@pytest.mark.parametrize("victim", ["controller", "controller-n2", "worker"])
def test_kill_9(project: Project, temporary: Path, sandbox: str, victim: str) -> None:
    agent = str(project.write("agent.py", AGENT))
    project.write(
        "pyproject.toml",
        "[tool.agentbench.runtimes.stubborn]\n"
        f'adapter = "command"\nargv = [{sys.executable!r}, {agent!r}]\nreadable = [{agent!r}]\n',
    )
    living, kept = start(temporary)
    width = [] if victim == "controller" else ["-n", "2"]
    asked = ["--runtime=stubborn", "--run-dir=run", "--trials=2", "--timeout-multiplier=9"]
    killed = run(project, temporary, *asked, f"--sandbox={sandbox}", *width)
    assert killed.stdout is not None
    beats = 2 * (len(width) or 1)
    wait_for(lambda: len(list(temporary.glob("agentbench-*/ws/beat-*"))) >= beats)
    if victim == "worker":
        folders = [f for f in temporary.glob("agentbench-*/ws") if f.parent != kept]
        for folder in folders:
            stamp = owner.read((folder.parent / "owner").read_bytes())
            os.kill(int(stamp[owner.OWNER].partition(":")[0]), signal.SIGKILL)
        # The run goes on with other workers, which find trials that are over.
        killed.communicate(timeout=100)
    else:
        killed.kill()
        killed.wait()
        killed.stdout.close()
    said, _ = run(project, temporary, "--runtime=oracle", "--run-dir=next").communicate(timeout=100)
    assert "1 passed" in said
    if victim == "controller":  # workers without one may have cleaned up by themselves
        assert "agentbench: ended what a killed run had left: " in said
    assert list(temporary.iterdir()) == [kept]
    with living:
        # Its own child alone: no process of the dead run, no worker of it.
        assert len(marked(str(temporary))) == 2
        assert living.poll() is None
        living.kill()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
