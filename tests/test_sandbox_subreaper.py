"""The local sandbox: nothing that a command does outlives it, blocks it or fills memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Command, Completed, Limits, View
from pytest_agentbench.sandbox.cgroup import place
from pytest_agentbench.sandbox.none import Plain
from pytest_agentbench.sandbox.subreaper import Subreaper
from pytest_agentbench.status import Status, TrialFault

SLEEPER = "trap '' TERM INT HUP; while :; do sleep 0.2; done"


def run(folder: Path, script: str, *args: str, sandbox: Any = None, **limits: Any) -> Completed:
    """Run Python source in the sandbox, with ``args``."""
    command = Command(
        argv=(sys.executable, "-I", "-S", "-c", script, *args),
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        **{"timeout": 20.0, **limits},
    )
    return (sandbox or Subreaper()).run(command)


def living(mark: str) -> list[str]:
    """Command lines of the processes that have ``mark`` in theirs."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            line = (folder / "cmdline").read_bytes() if folder.name.isdigit() else b""
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0] if line else "Z"
        except OSError:
            continue
        if mark.encode() in line and state not in "ZX" and int(folder.name) != os.getpid():
            found.append(line.decode().replace("\0", " "))
    return found


@pytest.fixture
def mark() -> Iterator[str]:
    """A word that marks the processes of a test; none of them may be left."""
    word = f"mark-{uuid.uuid4().hex}"
    yield word
    assert living(word) == []


def test_exit_code_and_both_streams(tmp_path: Path) -> None:
    done = run(tmp_path, "import os; os.write(1, b'out'); os.write(2, b'err'); os._exit(7)")
    assert (done.exit_code, done.stdout, done.stderr) == (7, b"out", b"err")
    assert (done.timed_out, done.survivors) == (False, 0)


def test_a_signal_is_a_negative_exit_code(tmp_path: Path) -> None:
    assert run(tmp_path, "import os; os.kill(os.getpid(), 11)").exit_code == -11


def test_the_environment_is_the_commands_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "x")
    command = Command(argv=("env",), cwd=tmp_path, env={"PATH": os.environ["PATH"], "A": "1"})
    lines = Subreaper().run(command).stdout.decode().splitlines()
    # Beside it, whose it is.
    assert sorted(line.partition("=")[0] for line in lines) == ["A", "AGENTBENCH_OWNER", "PATH"]


def test_the_deadline_ends_what_ignores_term(tmp_path: Path, mark: str) -> None:
    script = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True)\n"
    done = run(tmp_path, script + "time.sleep(60)", mark, timeout=0.5)
    assert (done.timed_out, done.exit_code, done.stdout) == (True, -9, b"up\n")


def test_term_comes_first_at_the_deadline(tmp_path: Path) -> None:
    script = (
        "import os, signal, time\n"
        "def tidy(*_): os.write(1, b'tidy'); os._exit(4)\n"
        "signal.signal(15, tidy); time.sleep(60)"
    )
    done = run(tmp_path, script, timeout=0.8)
    assert (done.timed_out, done.exit_code, done.stdout) == (True, 4, b"tidy")


def test_children_in_sessions_of_their_own_are_killed(tmp_path: Path, mark: str) -> None:
    script = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen(['sh', '-c', {SLEEPER!r}, sys.argv[1]], start_new_session=True)\n"
        "time.sleep(60)"
    )
    done = run(tmp_path, script, mark, timeout=0.7)
    assert done.timed_out
    assert done.survivors >= 1


DAEMON = f"""
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp('sh', ['sh', '-c', {SLEEPER!r}, sys.argv[1]])
    os._exit(0)
os.wait()
"""


def test_a_daemon_is_killed_at_the_deadline(tmp_path: Path, mark: str) -> None:
    done = run(tmp_path, DAEMON + "time.sleep(60)", mark, timeout=0.7)
    assert done.timed_out
    assert done.survivors >= 1


def test_a_daemon_that_outlives_the_leader_is_killed_at_once(tmp_path: Path, mark: str) -> None:
    done = run(tmp_path, DAEMON + "print('done')", mark)
    assert (done.timed_out, done.exit_code, done.stdout) == (False, 0, b"done\n")
    assert done.survivors >= 1


def test_a_daemon_with_no_environment_and_closed_streams_is_killed(
    tmp_path: Path, mark: str
) -> None:
    script = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    for number in range(3): os.close(number)\n"
        f"    os.execve('/bin/sh', ['sh', '-c', {SLEEPER!r}, sys.argv[1]], {{}})\n"
        "time.sleep(0.2)"
    )
    assert run(tmp_path, script, mark).survivors >= 1


def test_a_storm_of_forks_is_ended(tmp_path: Path, mark: str) -> None:
    script = (
        "import os, sys, time\n"
        "for _ in range(50):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        f"        os.execvp('sh', ['sh', '-c', {SLEEPER!r}, sys.argv[1]])\n"
        "time.sleep(60)"
    )
    sandbox = Subreaper()
    done = run(tmp_path, script, mark, timeout=2.0, sandbox=sandbox)
    assert done.timed_out
    assert done.survivors >= 50
    assert sandbox.close() == ()


def test_what_forks_itself_for_ever_is_ended(tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    script = (
        "import os, sys, time\n"
        "end = time.time() + 30\n"
        "while time.time() < end:\n"
        "    open(sys.argv[1], 'w').write(str(time.time()))\n"
        "    if os.fork(): os._exit(0)\n"
        "    os.setsid(); time.sleep(0.002)"
    )
    run(tmp_path, script, str(beat))
    last = beat.read_text()
    time.sleep(0.3)
    assert beat.read_text() == last


def test_output_is_counted_whole_and_kept_up_to_the_limit(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    script = "import os\nfor _ in range(300): os.write(1, b'x' * 1_000_000)"
    done = run(tmp_path, script, output_limit=1000)
    assert (done.stdout, done.stdout_bytes, done.exit_code) == (b"x" * 1000, 300_000_000, 0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 50_000  # KiB


def test_endless_output_ends_with_the_deadline(tmp_path: Path, mark: str) -> None:
    done = run(tmp_path, "import os\nwhile True: os.write(2, b'y' * 65536)", mark, timeout=0.5)
    assert done.timed_out
    assert len(done.stderr) == 1 << 20


def test_a_large_input_and_output_at_once_do_not_lock(tmp_path: Path) -> None:
    script = "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer, 1000)"
    data = os.urandom(1 << 20)
    assert run(tmp_path, script, stdin=data, output_limit=2 << 20).stdout == data


def test_an_input_that_nobody_reads_is_let_go(tmp_path: Path) -> None:
    done = run(tmp_path, "import os; os.close(0); print(1)", stdin=b"x" * (1 << 20))
    assert (done.exit_code, done.stdout) == (0, b"1\n")


def test_no_file_grows_beyond_the_limit(tmp_path: Path) -> None:
    script = "import os\nwith open('f', 'wb', 0) as f:\n  while True: f.write(b'x' * 4096)"
    done = run(tmp_path, script, view=View(limits=Limits(file_mb=1)))
    assert done.exit_code != 0
    assert (tmp_path / "f").stat().st_size == 1 << 20
    assert done.enforced["file_mb"] == {"limit": 1, "by": "rlimit"}


def test_other_children_of_the_process_are_left_alone(tmp_path: Path) -> None:
    with (
        subprocess.Popen(["sleep", "60"]) as ours,
        subprocess.Popen(["sleep", "60"], start_new_session=True) as apart,
        subprocess.Popen(["true"]) as ended,
    ):
        run(tmp_path, "pass")
        assert (ours.poll(), apart.poll(), ended.wait()) == (None, None, 0)
        ours.kill()
        apart.kill()


def test_the_tree_dies_with_the_process_that_started_it(tmp_path: Path, mark: str) -> None:
    script = (
        "import sys, os; from pathlib import Path\n"
        "from pytest_agentbench.sandbox.subreaper import Subreaper\n"
        "from pytest_agentbench.execution import Command\n"
        "argv = ('sh', '-c', 'echo up > started; exec sleep 60', sys.argv[1])\n"
        "argv = (sys.executable, '-c', 'import time; open(\"up\", \"w\"); time.sleep(60)', *argv)\n"
        "Subreaper().run(Command(argv=argv, cwd=Path.cwd(), env=dict(os.environ)))"
    )
    root = Path(__file__).parent.parent
    with subprocess.Popen(
        [sys.executable, "-c", script, mark],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as worker:
        while not (tmp_path / "up").exists():
            assert worker.poll() is None
            time.sleep(0.02)
        worker.kill()
    for _ in range(100):
        if not living(mark):
            return
        time.sleep(0.02)
    raise AssertionError(living(mark))


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TrialFault) as caught:
        Subreaper().run(Command(argv=("no-such-thing",), cwd=tmp_path, env={"PATH": "/usr/bin"}))
    assert caught.value.status is Status.SANDBOX_ERROR
    assert str(caught.value) == (
        "cannot start 'no-such-thing': there is no such program on the PATH of the command"
    )


@pytest.mark.parametrize(
    ("argv", "where", "message"),
    [
        (("true",), "gone", "cannot start 'true': the working folder 'gone' is gone"),
        (("true", "a\0b"), ".", "cannot start 'true': embedded null byte"),
        (("true", "x" * 200_000), ".", "cannot start 'true': Argument list too long"),
    ],
)
def test_a_command_that_cannot_start(
    tmp_path: Path, argv: tuple[str, ...], where: str, message: str
) -> None:
    with pytest.raises(TrialFault) as caught:
        Subreaper().run(Command(argv=argv, cwd=tmp_path / where, env={"PATH": os.environ["PATH"]}))
    assert caught.value.status is Status.SANDBOX_ERROR
    assert str(caught.value) == message


def test_an_exception_in_the_waiting_thread_kills_the_tree(tmp_path: Path, mark: str) -> None:
    import signal

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, DAEMON + "time.sleep(60)", mark)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_enforced_says_what_is_and_what_is_not(tmp_path: Path) -> None:
    by = "cgroup" if place() else "watching"
    assert run(tmp_path, "pass").enforced == {
        "sandbox": "subreaper",
        "files": "open",
        "read_only": False,
        "network": "open",
        "capabilities": "kept",
        "tree_kill": "subreaper",
        "dies_with_worker": True,
        "output_limit": 1 << 20,
        "memory_mb": {"limit": 4096, "by": by},
        "processes": {"limit": 512, "by": by},
        "cpus": None,
        "cpu_seconds": None,
        "file_mb": {"limit": 1024, "by": "rlimit"},
        "workspace_mb": {"limit": 1024, "by": "watching"},
        "open_files": None,
    }
    plain = run(tmp_path, "pass", sandbox=Plain()).enforced
    assert (plain["tree_kill"], plain["dies_with_worker"]) == ("process group", False)


def test_the_plain_one_kills_the_group(tmp_path: Path, mark: str) -> None:
    script = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen(['sh', '-c', {SLEEPER!r}, sys.argv[1]]); time.sleep(60)"
    )
    done = run(tmp_path, script, mark, sandbox=Plain(), timeout=0.5)
    assert done.timed_out
    for _ in range(50):
        if not living(mark):
            break
        time.sleep(0.02)
