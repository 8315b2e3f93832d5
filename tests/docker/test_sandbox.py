"""What the Docker sandbox enforces, shown on a real engine."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from pytest_agentbench import cli
from pytest_agentbench.execution import Command, Completed, Limits, View
from pytest_agentbench.files import remove
from pytest_agentbench.sandbox import engine, owner
from pytest_agentbench.sandbox.docker import Docker
from pytest_agentbench.sandbox.registry import SandboxUnavailable, choose
from pytest_agentbench.status import Status, TrialFault

Run = Callable[..., Completed]


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    client = engine.connect()
    yield client
    client.close()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def run(work: Path) -> Iterator[Run]:
    """Runs a line of bash in a container, in ``work``."""
    sandbox = Docker()

    def run(line: str, *, timeout: float = 30, stdin: bytes = b"", **view: Any) -> Completed:
        view.setdefault("writable", (work,))
        env = {"PATH": "/nowhere", "HOME": str(work), "MARK": "of the command"}
        argv = ("bash", "-c", line)
        return sandbox.run(
            Command(argv=argv, cwd=work, env=env, timeout=timeout, stdin=stdin, view=View(**view))
        )

    yield run
    assert sandbox.close() == ()


def ours(client: docker.DockerClient) -> list[Any]:
    found: list[Any] = client.containers.list(
        all=True, ignore_removed=True, filters={"label": owner.OWNER}
    )
    return found


def until(true: Callable[[], Any], seconds: float = 30) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
    return found


def test_streams_exit_codes_and_input(run: Run, client: docker.DockerClient) -> None:
    done = run("cat; echo out; echo err >&2; exit 7", stdin=b"x" * 300_000)
    assert done.exit_code == 7
    assert done.stdout == b"x" * 300_000 + b"out\n"
    assert done.stderr == b"err\n"
    assert not done.timed_out
    assert ours(client) == []


def test_a_signal_is_told_from_an_exit_code(run: Run) -> None:
    assert run("kill -TERM $$").exit_code == -signal.SIGTERM
    assert run("exit 143").exit_code == 143


def test_input_that_is_not_read_blocks_nobody(run: Run) -> None:
    assert run("exit 0", stdin=b"x" * 10_000_000).exit_code == 0


def test_output_beyond_the_cap_is_counted_and_dropped(run: Run) -> None:
    done = run("head -c 50000000 /dev/zero; echo end >&2")
    assert (len(done.stdout), done.stdout_bytes) == (1 << 20, 50_000_000)
    assert done.stderr == b"end\n"


def test_the_environment_is_the_commands_with_the_path_of_the_image(run: Run) -> None:
    done = run("echo $MARK; echo $PATH; env | wc -l; command -v python3")
    assert done.stdout.decode().split("\n")[:2] == [
        "of the command",
        "/usr/local/bin:/usr/bin:/bin",
    ]


def test_folders_of_the_command_stay_on_its_path(work: Path) -> None:
    (work / "bin").mkdir()
    tool = work / "bin" / "tool"
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    sandbox = Docker()
    command = Command(
        argv=("tool",),
        cwd=work,
        env={"PATH": f"/nowhere:{work}/bin"},
        view=View(writable=(work,)),
    )
    assert sandbox.run(command).stdout == b"found\n"
    sandbox.close()


def test_the_harness_gets_its_files_back(run: Run, work: Path) -> None:
    (work / "mine").write_text("before")
    done = run("mkdir -m 700 deep; echo new >deep/file; echo after >mine; ln -s /etc link; id -u")
    assert done.stdout == b"65534\n"
    assert (work / "mine").read_text() == "after\n"
    for name in (".", "mine", "deep", "deep/file"):
        assert (work / name).stat().st_uid == os.geteuid()
    assert (work / "link").lstat().st_uid == os.geteuid()
    assert Path("/etc").stat().st_uid == 0
    assert work.stat().st_mode & 0o777 == 0o700


def test_whatever_a_command_leaves_can_be_removed(run: Run, work: Path) -> None:
    script = (
        "import os, socket\n"
        "os.mkfifo('pipe'); socket.socket(socket.AF_UNIX).bind('socket')\n"
        "os.mkdir('shut'); open('shut/file', 'w').close(); os.chmod('shut', 0)\n"
        "open(b'\\xff\\n', 'w').close(); os.symlink('/', 'out'); os.symlink('loop', 'loop')\n"
        "for _ in range(1000): os.mkdir('deep'); os.chdir('deep')\n"
    )
    (work / "mess.py").write_text(script)
    done = run("python3 mess.py")
    assert (done.exit_code, done.stderr) == (0, b"")
    assert (work / "deep" / "deep").stat().st_uid == os.geteuid()
    remove(work)
    assert not work.exists()
    work.mkdir()


def test_past_the_time_limit_the_whole_tree_ends(run: Run, work: Path) -> None:
    beat = "while :; do date +%s%N >beat-$1; sleep 0.1; done"
    (work / "beat.sh").write_text(f"trap '' TERM HUP\n{beat}\n")
    started = time.monotonic()
    done = run(
        "trap '' TERM; setsid bash beat.sh own & (setsid bash beat.sh orphan &) ; bash beat.sh main",
        timeout=2,
    )
    assert done.timed_out
    assert done.exit_code == -signal.SIGKILL
    assert time.monotonic() - started < 15
    beats = [work / f"beat-{name}" for name in ("own", "orphan", "main")]
    before = [path.read_text() for path in beats]
    time.sleep(1)
    assert [path.read_text() for path in beats] == before


def test_a_command_may_end_in_its_grace(run: Run) -> None:
    done = run("trap 'echo bye; exit 9' TERM; while :; do sleep 0.1; done", timeout=2)
    assert (done.timed_out, done.exit_code, done.stdout) == (True, 9, b"bye\n")


def test_what_is_left_behind_is_counted_and_ended(run: Run) -> None:
    done = run("(setsid sleep 1000 &); (setsid sleep 1000 &); sleep 0.3; exit 0")
    assert (done.exit_code, done.survivors) == (0, 2)


def test_memory_is_limited_and_the_limit_named(run: Run) -> None:
    eat = "python3 -c 'a = bytearray(400 << 20)'"
    done = run(f"{eat}; echo $?", limits=Limits(memory_mb=64))
    assert done.stdout.strip() == b"137"
    assert done.exceeded == ("memory: a process was killed at 64 MiB",)
    assert done.enforced["memory_mb"] == {"limit": 64, "by": "cgroup"}
    assert run(f"{eat}; echo $?").stdout.strip() == b"0"


def test_processes_are_limited(run: Run) -> None:
    script = (
        "import os, time\n"
        "made = 0\n"
        "try:\n"
        "    while made < 200:\n"
        "        if os.fork() == 0: time.sleep(60); os._exit(0)\n"
        "        made += 1\n"
        "except OSError as error: print(made, error.errno)\n"
    )
    done = run(f"exec python3 -c '{script}'", limits=Limits(processes=20))
    made, errno = done.stdout.split()
    assert int(made) < 20
    assert errno == b"11"
    assert done.enforced["processes"] == {"limit": 20, "by": "cgroup"}


def test_the_size_of_a_file_is_limited(run: Run, work: Path) -> None:
    run("head -c 5000000 /dev/zero >big", limits=Limits(file_mb=1))
    assert (work / "big").stat().st_size == 1 << 20


def test_the_size_of_its_folders_is_watched(run: Run, work: Path) -> None:
    line = "for n in $(seq 100); do head -c 1000000 /dev/zero >big-$n; sleep 0.05; done"
    done = run(line, limits=Limits(workspace_mb=10))
    assert done.exceeded == ("workspace: more than 10 MiB in its folders",)
    assert (done.exit_code, done.timed_out) == (-signal.SIGKILL, False)
    assert len(list(work.iterdir())) < 100
    assert done.enforced["workspace_mb"] == {"limit": 10, "by": "watching"}


def test_only_its_own_folders_and_tmp_can_be_written_to(run: Run) -> None:
    done = run(
        "for path in / /usr /usr/bin/bash /etc /etc/passwd /run /run/agentbench/init.py /var/tmp "
        "/tmp . ; do (test -d $path && touch $path/new || : >>$path) 2>/dev/null && echo $path; done"
    )
    assert done.stdout.split() == [b"/tmp", b"."]


def test_nothing_else_of_the_machine_is_seen(run: Run, tmp_path: Path, work: Path) -> None:
    (tmp_path / "secret").write_text("mark")
    done = run(f"cat ../secret /proc/1/environ /proc/1/root{tmp_path}/secret; ls -a {tmp_path}")
    assert b"mark" not in done.stdout
    assert done.stdout == b".\n..\nwork\n"
    assert done.stderr.count(b"Permission denied") == 2


def test_readable_files_are_seen_and_stay_as_they_are(run: Run, tmp_path: Path, work: Path) -> None:
    given = tmp_path / "given"
    given.write_text("text")
    given.chmod(0o666)
    done = run(f"cat {given}; echo more >>{given}", writable=(work,), readable=(given,))
    assert done.stdout == b"text"
    assert b"Read-only file system" in done.stderr
    assert given.read_text() == "text"


def test_a_hidden_folder_is_empty_inside_a_readable_one(tmp_path: Path, work: Path) -> None:
    answers = tmp_path / "project" / "answers"
    answers.mkdir(parents=True)
    (answers / "key").write_text("mark")
    tmp_path.joinpath("project").chmod(0o755)
    sandbox = Docker(hidden=(answers,))
    view = View(writable=(work,), readable=(tmp_path / "project",))
    argv = ("bash", "-c", f"cat {answers}/key; ls {tmp_path}/project")
    done = sandbox.run(Command(argv=argv, cwd=work, env={}, view=view))
    sandbox.close()
    assert done.stdout == b"answers\n"


def test_files_that_the_user_inside_cannot_read_are_refused(
    run: Run, tmp_path: Path, work: Path
) -> None:
    given = tmp_path / "given"
    given.touch(mode=0o600)
    with pytest.raises(TrialFault) as caught:
        run("true", readable=(given,))
    assert caught.value.status is Status.SANDBOX_ERROR
    assert str(caught.value) == (
        f"docker: {given} may not be read by others, and the command runs as user 65534; "
        f"run: chmod -R o+rX {given}"
    )


def test_there_are_no_capabilities_and_none_to_be_had(run: Run) -> None:
    done = run("grep -E '^(Cap|NoNewPrivs)' /proc/self/status")
    facts = dict(line.split(":\t") for line in done.stdout.decode().splitlines())
    assert facts["NoNewPrivs"] == "1"
    assert {value for name, value in facts.items() if name != "NoNewPrivs"} == {"0" * 16}


def test_there_is_no_network(run: Run) -> None:
    script = (
        "import os, socket\n"
        'print(os.listdir("/sys/class/net"))\n'
        'try: socket.create_connection(("192.0.2.1", 80), 3)\n'
        "except OSError as error: print(error.errno)\n"
    )
    done = run(f"python3 -c '{script}'")
    assert done.stdout == b"['lo']\n101\n"
    assert done.enforced["network"] == "none"


def test_the_gateway_is_reached_and_nothing_else(run: Run, tmp_path: Path, work: Path) -> None:
    folder = tmp_path / "gateway"
    folder.mkdir(mode=0o700)
    (tmp_path / "other").mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as other:
        listener.bind(str(folder / "s"))
        listener.listen()
        other.bind(str(tmp_path / "other" / "s"))
        other.listen()

        def answer() -> None:
            for _ in range(2):
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(b"answer to " + connection.recv(100))

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        script = (
            "import socket, sys\n"
            "def ask(line):\n"
            "    line.sendall(b'it'); print(line.recv(100).decode())\n"
            "ask(socket.create_connection(('127.0.0.1', 8080)))\n"
            "for path in sys.argv[1:]:\n"
            "    line = socket.socket(socket.AF_UNIX)\n"
            "    try: line.connect(path); ask(line)\n"
            "    except OSError as error: print(error.errno)\n"
        )
        (work / "ask.py").write_text(script)
        done = run(
            f"python3 ask.py {folder}/s {tmp_path}/other/s; rm {folder}/s",
            writable=(work,),
            network="gateway",
            gateway=folder,
        )
        thread.join(5)
    assert done.stdout == b"answer to it\nanswer to it\n2\n"
    assert b"Read-only file system" in done.stderr
    assert done.enforced["network"] == "gateway"


def test_a_program_that_is_not_in_the_image_is_no_agents_fault(work: Path) -> None:
    sandbox = Docker()
    with pytest.raises(TrialFault) as caught:
        sandbox.run(Command(argv=("nosuch",), cwd=work, env={}, view=View(writable=(work,))))
    sandbox.close()
    assert caught.value.status is Status.SANDBOX_ERROR
    assert str(caught.value) == (
        "cannot start 'nosuch' in the image agentbench/base:local: No such file or directory"
    )


def test_a_missing_image_is_refused_and_never_pulled(client: docker.DockerClient) -> None:
    before = client.api.images(all=True)
    assert Docker.problem("other") == (
        f"the image agentbench/other:local is not on the engine at {engine.address()}, and none "
        "is pulled; run: agentbench image build other"
    )
    assert Docker.problem("debian:12").endswith("and none is pulled; run: docker pull debian:12")
    with pytest.raises(TrialFault) as caught:
        Docker(image="other").run(Command(argv=("true",), cwd=Path("/"), env={}))
    assert caught.value.status is Status.SANDBOX_ERROR
    assert client.api.images(all=True) == before


def test_an_image_from_a_dockerfile_of_the_project(
    tmp_path: Path,
    work: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "docker" / "greeter"
    folder.mkdir(parents=True)
    (folder / "greet").write_text("#!/bin/sh\necho hello from $PLACE\n")
    (folder / "greet").chmod(0o755)
    recipe = "FROM agentbench/base:local\nCOPY greet /usr/local/bin/\nENV PLACE=here\n"
    (folder / "Dockerfile").write_text(recipe + "RUN greet >/made\nUSER root\nENTRYPOINT [sh]\n")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["image", "build", "greeter"]) == 0
    assert re.search(
        r"^agentbench/greeter:local  \d+ MB  sha256:", capsys.readouterr().out, re.MULTILINE
    )
    assert cli.main(["image", "list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == [
        "agentbench/base:local",
        "agentbench/greeter:local",
    ]
    sandbox = Docker(image="greeter")
    argv = ("bash", "-c", "greet; cat /made; id -u")
    done = sandbox.run(Command(argv=argv, cwd=work, env={}, view=View(writable=(work,))))
    sandbox.close()
    assert done.stdout == b"hello from here\nhello from here\n65534\n"
    assert done.enforced["image"] == "agentbench/greeter:local"


def test_a_build_pulls_nothing_and_its_steps_have_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "docker" / "mine" / "Dockerfile"
    path.parent.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    path.write_text("FROM debian:12\n")
    assert cli.main(["image", "build", "mine"]) == 2
    assert capsys.readouterr().out == (
        "agentbench image build: docker/mine/Dockerfile:1: the image 'debian:12' is not on the "
        "engine, and a build pulls none; run first: docker pull debian:12\n"
    )
    path.write_text("FROM agentbench/base:local\nRUN ls /sys/class/net && false\n")
    assert cli.main(["image", "build", "mine"]) == 2
    said = capsys.readouterr().out.splitlines()
    assert "lo" in said
    assert not any(line.startswith("eth") for line in said)
    assert said[-1] == (
        "agentbench image build: docker cannot build agentbench/mine:local: The command '/bin/sh "
        "-c ls /sys/class/net && false' returned a non-zero code: 1"
    )


def test_the_sandbox_is_chosen_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose("docker").name == "docker"
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/s")
    with pytest.raises(SandboxUnavailable, match="no engine answers at unix:///nowhere/s"):
        choose("docker")


def test_containers_say_whose_they_are(run: Run, client: docker.DockerClient) -> None:
    thread = threading.Thread(target=run, args=("sleep 5",))
    thread.start()
    (container,) = until(lambda: ours(client))
    labels = container.labels
    thread.join()
    pid, _, start = labels[owner.OWNER].partition(":")
    assert int(pid) == os.getpid()
    assert start == Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    assert set(owner.labels()) < set(labels)
    assert "agentbench.trial" in labels


def test_what_a_killed_owner_left_is_removed_and_nothing_else(
    work: Path, client: docker.DockerClient
) -> None:
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from pytest_agentbench.execution import Command, View\n"
        "from pytest_agentbench.sandbox.docker import Docker\n"
        "work = Path(sys.argv[1])\n"
        "view = View(writable=(work,))\n"
        "Docker().run(Command(argv=('sleep', '600'), cwd=work, env={}, timeout=600, view=view))\n"
    )
    other = client.containers.create("agentbench/base:local", ["true"], labels={"mine": "1"})
    argv = [sys.executable, "-c", script, str(work)]
    with subprocess.Popen(argv) as dead, subprocess.Popen(argv) as alive:
        try:
            until(lambda: sum(each.status == "running" for each in ours(client)) == 2)
            dead.kill()
            dead.wait()
            assert len(ours(client)) == 2
            assert Docker.problem() == ""
            (left,) = ours(client)
            assert left.labels[owner.OWNER].startswith(f"{alive.pid}:")
            assert client.containers.get(other.id)
        finally:
            other.remove()
            alive.kill()
    assert Docker.problem() == ""
    assert ours(client) == []


def test_an_ordinary_user_runs_commands_as_themselves(tmp_path: Path) -> None:
    """In a child that gives up its rights, once it has all modules."""
    warm = Command(argv=("true",), cwd=tmp_path, env={}, view=View(writable=(tmp_path,)))
    Docker().run(warm)
    work = Path(os.path.realpath("/tmp")) / f"agentbench-user-{os.getpid()}"
    work.mkdir()
    os.chown(work, 4321, 4321)
    address = Path(engine.address().removeprefix("unix://"))
    os.chown(address, 0, 4321)
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(4321, 4321, 4321)
            os.setresuid(4321, 4321, 4321)
            os.umask(0o077)
            sandbox = Docker()
            view = View(writable=(work,))
            argv = ("bash", "-c", "id -u; echo mine >file; mkdir folder; touch folder/file")
            done = sandbox.run(Command(argv=argv, cwd=work, env={}, view=view))
            assert sandbox.close() == ()
            assert done.stdout == b"4321\n", done
            for path in (work / "folder" / "file", work / "file"):
                path.unlink()
            (work / "folder").rmdir()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 (a child never returns to pytest)
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
    _, status = os.waitpid(child, 0)
    os.chown(address, 0, 0)
    work.rmdir()
    assert os.waitstatus_to_exitcode(status) == 0
