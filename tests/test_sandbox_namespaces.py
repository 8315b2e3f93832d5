"""bwrap and unshare, as root and as an ordinary user: what is hidden, cut off, limited, ended."""

from __future__ import annotations

import socket
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_agentbench.execution import Limits, View
from pytest_agentbench.status import Status, TrialFault
from tests.sandboxed import USERS, Sandboxed, sandboxed
from tests.test_sandbox_subreaper import living

CASES = [(name, who) for name in ("bwrap", "unshare") for who in USERS]


@pytest.fixture(params=CASES, ids=["-".join(case) for case in CASES])
def box(request: pytest.FixtureRequest) -> Iterator[Sandboxed]:
    with sandboxed(*request.param) as made:
        yield made


@pytest.fixture
def mark() -> Iterator[str]:
    word = f"mark-{uuid.uuid4().hex}"
    yield word
    assert living(word) == []


def test_exit_codes_streams_and_what_is_enforced(box: Sandboxed) -> None:
    script = "import os; os.write(1, os.read(0, 9)); os.write(2, b'err'); os._exit(7)"
    first, second = box.run_all(
        box.command(box.python, "-I", "-S", "-c", script, stdin=b"in"),
        box.command("sh", "-c", "kill -SEGV $$"),
    )
    assert (first.exit_code, first.stdout, first.stderr) == (7, b"in", b"err")
    assert second.exit_code == -11
    by = {"root": "cgroup"}.get(box.who, "watching")
    assert first.enforced == {
        "sandbox": box.name,
        "files": "hidden",
        "read_only": True,
        "network": "none",
        "capabilities": "none",
        "tree_kill": "pid namespace",
        "dies_with_worker": True,
        "output_limit": 1 << 20,
        "memory_mb": {"limit": 4096, "by": by},
        "processes": {"limit": 512, "by": "cgroup" if box.who == "root" else "rlimit"},
        "cpus": None,
        "cpu_seconds": None,
        "file_mb": {"limit": 1024, "by": "rlimit"},
        "workspace_mb": {"limit": 1024, "by": "watching"},
        "open_files": None,
    }


def test_files_of_the_machine_are_hidden(box: Sandboxed) -> None:
    (box.root / "secret").write_text("x")
    (box.root / "given").mkdir()
    (box.root / "given" / "file").write_text("y")
    script = (
        "import os, sys; root = sys.argv[1]\n"
        "print(sorted(os.listdir(root)), sorted(os.listdir('/tmp')), sorted(os.listdir('/')))\n"
        "print(os.path.exists('/etc/shadow'), os.path.exists('/var'), os.path.exists('/sys'))\n"
        "print(open(root + '/given/file').read())"
    )
    view = View(readable=(box.root / "given",))
    lines = box.script(script, str(box.root), view=view).stdout.decode().splitlines()
    assert "'given'" in lines[0]
    assert "secret" not in lines[0]
    assert "'home'" not in lines[0]
    assert lines[1:] == ["False False False", "y"]


def test_only_its_own_folders_are_writable(box: Sandboxed) -> None:
    (box.root / "given").mkdir()
    script = (
        "import sys\n"
        "for path in sys.argv[1:]:\n"
        "    try: open(path + '/new', 'w').write('x')\n"
        "    except OSError as error: print(path, error.errno)\n"
    )
    given, ws = str(box.root / "given"), str(box.root / "ws")
    places = (ws, "/tmp", "/dev/shm", given, "/usr", "/etc", "/", "/dev", str(box.root))
    view = View(readable=(box.root / "given",))
    done = box.script(script, *places, view=view)
    refused = [line.split() for line in done.stdout.decode().splitlines()]
    # What lies below /tmp is in its private one.
    assert refused == [[path, "30"] for path in (given, "/usr", "/etc", "/", "/dev")]
    assert sorted(path.name for path in box.root.iterdir() if path.name != "package") == [
        "given",
        "ws",
    ]
    assert (box.root / "ws" / "new").read_text() == "x"
    assert (box.root / "ws" / "new").stat().st_uid == box.root.stat().st_uid


def test_no_capability_is_left_and_none_to_be_had(box: Sandboxed) -> None:
    script = (
        "import os, subprocess\n"
        "print([l.split()[1] for l in open('/proc/self/status') if l.startswith('Cap')])\n"
        "for argv in (['mount', '-t', 'tmpfs', 'x', '/mnt'], ['umount', '/tmp'],\n"
        "             ['unshare', '-Urm', 'umount', '/tmp']):\n"
        "    print(subprocess.run(argv, capture_output=True).returncode != 0)\n"
        "try: os.readlink('/proc/1/exe')\n"
        "except PermissionError: print('no look at the first process')\n"
    )
    assert box.script(script).stdout.decode().splitlines() == [
        str(["0" * 16] * 5),
        *["True"] * 3,
        "no look at the first process",
    ]


NET = """
import socket, sys
for family, address in ((2, ('127.0.0.1', int(sys.argv[1]))), (2, ('192.0.2.1', 80)),
                        (10, ('2001:db8::1', 80)), (1, '\\0' + sys.argv[2])):
    with socket.socket(family) as one:
        one.settimeout(2)
        try: one.connect(address); print('connected')
        except OSError as error: print('refused')
print(open('/proc/net/dev').read().count(':'))
"""


def test_there_is_no_network(box: Sandboxed) -> None:
    abstract = f"agentbench-{uuid.uuid4().hex}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(f"\0{abstract}")
        unix.listen()
        args = (str(server.getsockname()[1]), abstract)
        closed, opened = box.run_all(
            box.command(box.python, "-I", "-S", "-c", NET, *args),
            box.command(box.python, "-I", "-S", "-c", NET, *args, view=View(network="open")),
        )
    assert closed.stdout.decode().splitlines() == ["refused"] * 4 + ["1"]
    assert opened.stdout.decode().splitlines()[0] == "connected"
    assert (closed.enforced["network"], opened.enforced["network"]) == ("none", "open")


TALK = """
import socket, sys
with socket.create_connection(('127.0.0.1', 8080)) as one:
    one.sendall(b'hello'); one.shutdown(1)
    print(one.makefile('rb').read())
with socket.socket(1) as two:
    two.connect(sys.argv[1]); two.sendall(b'direct'); two.shutdown(1)
    print(two.makefile('rb').read())
try: open(sys.argv[1] + 'x', 'w')
except OSError as error: print(error.errno)
"""


def test_the_gateway_is_reached_and_nothing_else(box: Sandboxed) -> None:
    folder = box.root / "gw"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "s"))
        server.listen()
        (folder / "s").chmod(0o666)

        def answer() -> None:
            for _ in range(2):
                connection, _ = server.accept()
                with connection, connection.makefile("rb") as file:
                    connection.sendall(file.read().upper())

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        view = View(network="gateway", gateway=folder)
        done = box.script(TALK, str(folder / "s"), view=view)
        thread.join(5)
    assert done.stdout.decode().splitlines() == ["b'HELLO'", "b'DIRECT'", "30"], done.stderr
    assert done.enforced["network"] == "gateway"


def test_a_gateway_that_is_gone_is_a_bad_gateway(box: Sandboxed) -> None:
    (box.root / "gw").mkdir()
    script = (
        "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8080)\n"
        "c.request('GET', '/'); r = c.getresponse(); print(r.status, r.read().decode())"
    )
    done = box.script(script, view=View(network="gateway", gateway=box.root / "gw"))
    assert done.stdout.decode() == (
        '502 {"error": {"message": "the gateway is gone: No such file or directory"}}\n'
    )


TREE = """
import os, signal, subprocess, sys, time
loop = "trap '' TERM INT HUP; while :; do sleep 0.2; done"
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: os.execvp('sh', ['sh', '-c', loop, sys.argv[1]])
        os._exit(0)
    os.wait()
"""


def test_what_outlives_the_command_is_killed_and_counted(box: Sandboxed, mark: str) -> None:
    done = box.script(TREE + "print('done'); time.sleep(0.3)", mark)
    assert (done.exit_code, done.stdout, done.timed_out) == (0, b"done\n", False)
    assert done.survivors >= 3


def test_the_deadline_ends_the_whole_tree(box: Sandboxed, mark: str) -> None:
    ignore = "signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    done = box.script(TREE + ignore, mark, timeout=1.0)
    assert (done.exit_code, done.stdout, done.timed_out) == (-9, b"up\n", True)
    assert done.survivors >= 3
    assert done.seconds < 4


def test_term_comes_first_at_the_deadline(box: Sandboxed) -> None:
    script = (
        "import os, signal, time\n"
        "def tidy(*_): os.write(1, b'tidy'); os._exit(4)\n"
        "signal.signal(15, tidy); time.sleep(60)"
    )
    done = box.script(script, timeout=1.0)
    assert (done.timed_out, done.exit_code, done.stdout) == (True, 4, b"tidy")


def test_orphans_are_reaped(box: Sandboxed) -> None:
    script = (
        "import os, time\n"
        "for _ in range(20):\n"
        "    if os.fork() == 0:\n"
        "        if os.fork() == 0: os._exit(0)\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
        "time.sleep(0.3)\n"
        "states = [open(f'/proc/{p}/stat').read().split()[2] for p in os.listdir('/proc')"
        " if p.isdecimal()]\n"
        "print(states.count('Z'))"
    )
    done = box.script(script)
    assert (done.stdout, done.survivors) == (b"0\n", 0)


def test_the_tree_dies_with_the_harness(box: Sandboxed, mark: str) -> None:
    import subprocess
    import time

    source = (
        "import sys; from pathlib import Path\n"
        "from pytest_agentbench.sandbox.registry import choose\n"
        "from pytest_agentbench.execution import Command, View\n"
        "root = Path(sys.argv[1])\n"
        "line = 'echo up > up; setsid sleep 60 & exec sh -c \"sleep 60; :\" $0'\n"
        "command = Command(argv=('sh', '-c', line, sys.argv[3]), cwd=root,\n"
        "    env={'PATH': '/usr/bin:/bin'}, view=View(writable=(root,)))\n"
        "choose(sys.argv[2]).make().run(command)"
    )
    argv = [*box.start(source), str(box.root / "ws"), box.name, mark]
    with subprocess.Popen(argv, env=box.environment, cwd="/") as harness:
        while not (box.root / "ws" / "up").exists():
            assert harness.poll() is None
            time.sleep(0.02)
        harness.kill()
    for _ in range(100):
        if not living(mark):
            return
        time.sleep(0.02)
    raise AssertionError(living(mark))


def test_programs_that_cannot_be_started(box: Sandboxed) -> None:
    hidden = box.root / "hidden.sh"
    hidden.write_text("#!/bin/sh\n")
    hidden.chmod(0o755)
    (box.root / "ws" / "plain").write_text("x")
    commands = [("no-such-thing",), (str(hidden),), ("./plain",), ("true", "a" * 200_000)]
    results = box.run_all(*(box.command(*argv) for argv in commands[:3]))
    assert [result[1] for result in results] == [Status.SANDBOX_ERROR] * 3
    assert [result[0] for result in results] == [
        "cannot start 'no-such-thing': there is no such program on the PATH of the command",
        f"cannot start {str(hidden)!r}: the sandbox {box.name} hides it, or the interpreter that it "
        + "names; add their folders to 'readable' of the runtime's profile",
        "cannot start './plain': Permission denied",
    ]
    with pytest.raises(TrialFault, match="Argument list too long"):
        box.run(*commands[3])


def test_folders_in_the_system_are_covered(box: Sandboxed) -> None:
    """A project may lie below /usr, as it does in many containers."""
    command = box.command("ls", "-A", "/usr/share")
    (shown,) = box.run_all(command)
    (covered,) = box.run_all(command, hidden=(Path("/usr/share"), box.root))
    assert (covered.exit_code, covered.stdout) == (0, b"")
    assert shown.stdout


def test_memory_is_limited_for_the_whole_tree(box: Sandboxed) -> None:
    script = (
        "import os, time\n"
        "for _ in range(4):\n"
        "    if os.fork() == 0:\n"
        "        kept = b'x' * (40 << 20); time.sleep(1); os._exit(0)\n"
        "codes = [os.wait()[1] for _ in range(4)]; os._exit(9 in codes)"
    )
    done = box.script(script, view=View(limits=Limits(memory_mb=100)))
    by = "a process was killed at 100 MiB" if box.who == "root" else "more than 100 MiB"
    assert done.exceeded == (f"memory: {by}",)
    assert done.exit_code == (1 if box.who == "root" else -9)


def test_processes_are_limited(box: Sandboxed) -> None:
    script = (
        "import os, time\n"
        "try:\n"
        "    for _ in range(100):\n"
        "        if os.fork() == 0: time.sleep(60)\n"
        "except OSError as error: print(error.errno)\n"
    )
    done = box.script(script, view=View(limits=Limits(processes=20)))
    assert (done.stdout, done.exit_code) == (b"11\n", 0)
    assert 10 < done.survivors <= 20


def test_processor_time_is_limited(box: Sandboxed) -> None:
    done = box.script("while True: pass", view=View(limits=Limits(cpu_seconds=1)))
    assert not done.timed_out
    if box.who == "root":
        assert (done.exit_code, done.exceeded) == (-9, ("processor time: more than 1 s",))
    else:
        assert done.exit_code == -24  # SIGXCPU


def test_files_and_the_workspace_are_limited(box: Sandboxed) -> None:
    script = (
        "import itertools, time\n"
        "try:\n"
        "    for n in itertools.count():\n"
        "        with open(f'f{n}', 'wb', 0) as file:\n"
        "            while file.tell() < 4 << 20: file.write(b'x' * (1 << 20))\n"
        "except OSError as error: print(error.errno, flush=True); time.sleep(60)\n"
    )
    limits = Limits(file_mb=2), Limits(workspace_mb=8)
    large, many = (
        box.command(box.python, "-I", "-S", "-c", script, view=View(limits=each), timeout=3.0)
        for each in limits
    )
    done = box.run_all(large)[0]
    assert (done.stdout, done.timed_out) == (b"27\n", True)
    assert (box.root / "ws" / "f0").stat().st_size == 2 << 20
    done = box.run_all(many)[0]
    assert (done.exit_code, done.timed_out) == (-9, False)
    assert done.exceeded == ("workspace: more than 8 MiB in its folders",)
