"""Real servers, real children: what a checker does stays in its own trial."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.grading.call import Code, Evaluation, PythonCall
from pytest_agentbench.grading.client import Answer, CheckerServer, Crash
from pytest_agentbench.grading.confinement import LAUNCHERS
from pytest_agentbench.scenario.model import CheckSpec
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trace.events import Trace

HEAD = "import json, os, subprocess, sys, threading, time\nfrom pathlib import Path\n"


@pytest.fixture(scope="module", params=list(LAUNCHERS))
def server(request: pytest.FixtureRequest) -> Iterator[CheckerServer]:
    with CheckerServer(limit=1.0, launchers=(request.param,)) as server:
        try:
            assert server.confinement == request.param
        except TrialFault as fault:
            if request.param == "weak":
                raise
            pytest.skip(str(fault))
        yield server


@pytest.fixture(scope="module")
def weak() -> Iterator[CheckerServer]:
    with CheckerServer(limit=1.0, launchers=("weak",)) as server:
        yield server


class Checkers:
    """Writes checkers and calls them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        self.workspace.mkdir()

    def call(self, body: str) -> PythonCall:
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        path = self.folder / "checker.py"
        path.write_text(f"{HEAD}def check(workspace, trace, **args):\n{lines}")
        return PythonCall(
            code=Code(path=path), function="check", workspace=self.workspace, trace={"events": []}
        )


@pytest.fixture
def checkers(tmp_path: Path) -> Checkers:
    return Checkers(tmp_path)


def test_what_a_checker_imports_is_found_as_python_finds_it(
    server: CheckerServer, tmp_path: Path
) -> None:
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "__init__.py").write_text("HERE = __file__\n")
    (tmp_path / "helpers" / "words.py").write_text("WORD = 'old'\n")
    (tmp_path / "beside.py").write_text("class Odd(Exception): pass\ndef fail():\n    raise Odd\n")
    path = tmp_path / "checker.py"
    path.write_text(
        "import beside, helpers\nfrom helpers.words import WORD\n"
        "def check(workspace, trace):\n"
        "    try:\n        beside.fail()\n    except beside.Odd as odd:\n"
        "        line = odd.__traceback__.tb_next.tb_lineno\n"
        "    return [WORD, helpers.HERE, beside.__spec__.origin, line, __file__]\n"
    )
    code = Code(path=path, search=(tmp_path,))
    call = PythonCall(code=code, function="check", workspace=tmp_path, trace={})
    places = [str(tmp_path / "helpers" / "__init__.py"), str(tmp_path / "beside.py")]
    assert server.call(call) == Answer(["old", *places, 3, str(path)])
    (tmp_path / "helpers" / "words.py").write_text("WORD = 'edited'\n")
    assert server.call(call) == Answer(["edited", *places, 3, str(path)])
    (tmp_path / "beside.py").write_text("def fail(:\n")
    told = "SyntaxError: invalid syntax (beside.py, line 1) (checker.py:1)"
    assert server.call(call) == Crash(kind="raised", message=told)


GOOD = "return [sorted(os.listdir('.')), sorted(set('agentbench')), json.dumps({'a': 1})]"


def test_returns_what_the_checker_returns(server: CheckerServer, checkers: Checkers) -> None:
    (checkers.workspace / "a.txt").write_text("here")
    body = "return {'score': 0.5, 'detail': (workspace / 'a.txt').read_text(), 'found': trace}"
    expected = {"score": 0.5, "detail": "here", "found": {"events": []}}
    assert server.call(checkers.call(body)) == Answer(expected)


@pytest.mark.parametrize(
    ("body", "crash"),
    [
        ("raise ValueError('no')", Crash(kind="raised", message="ValueError: no (checker.py:4)")),
        ("sys.exit(3)", Crash(kind="raised", message="SystemExit: 3 (checker.py:4)")),
        (
            "return json.loads((workspace / 'sub' / 'x').read_text())",
            Crash(
                kind="raised",
                message="FileNotFoundError: [Errno 2] No such file or directory: 'sub/x' "
                "(checker.py:4)",
            ),
        ),
        (
            "raise OSError('/usr/lib/python3/secret/place.py is gone at 0x7f00deadbeef')",
            Crash(kind="raised", message="OSError: place.py is gone at 0x… (checker.py:4)"),
        ),
        (
            "class Bad(Exception):\n    def __str__(self):\n        raise SystemExit\nraise Bad",
            Crash(kind="raised", message="Bad: (its message cannot be shown) (checker.py:7)"),
        ),
        ("raise ValueError", Crash(kind="raised", message="ValueError (checker.py:4)")),
        (
            "os._exit(3)",
            Crash(kind="died", message="ended with exit code 3 without a verdict"),
        ),
        (
            "import ctypes; ctypes.string_at(0)",
            Crash(kind="died", message="killed by SIGSEGV without a verdict"),
        ),
        ("while True: pass", Crash(kind="timeout", message="no verdict within 1 s")),
        ("time.sleep(100)", Crash(kind="timeout", message="no verdict within 1 s")),
        (
            "if os.fork() == 0:\n    os.setsid(); time.sleep(100)\nos._exit(7)",
            Crash(kind="died", message="ended with exit code 7 without a verdict"),
        ),
        (
            "while True: os.fork()",
            Crash(kind="died", message="killed: it had started more than 64 processes"),
        ),
        ("return bytearray(8 << 30)", Crash(kind="raised", message="MemoryError (checker.py:4)")),
        (
            "def deeper(): return deeper()\ndeeper()",
            Crash(
                kind="raised",
                message="RecursionError: maximum recursion depth exceeded (checker.py:4)",
            ),
        ),
        (
            "return 'x' * (5 << 20)",
            Crash(kind="invalid", message="the verdict is larger than 4 MiB"),
        ),
        (
            "return float('nan')",
            Crash(
                kind="invalid",
                message="the verdict is not JSON: Out of range float values are not JSON compliant",
            ),
        ),
        (
            "loop = []; loop.append(loop); return loop",
            Crash(kind="invalid", message="the verdict is not JSON: Circular reference detected"),
        ),
        (
            "json.dumps = lambda *a, **k: '{'; return True",
            Crash(
                kind="invalid",
                message="the verdict is not JSON: Expecting property name enclosed in double "
                "quotes: line 1 column 2 (char 1)",
            ),
        ),
        (
            "os.closerange(0, 99)\nwhile True: pass",
            Crash(kind="died", message="closed the pipe that its verdict was to go through"),
        ),
        (
            "os._exit = None; os.write = None",
            Crash(kind="died", message="ended with exit code 1 without a verdict"),
        ),
    ],
    ids=lambda value: "" if isinstance(value, Crash) else value[:30],
)
def test_a_crash_is_told_and_stays_where_it_is(
    server: CheckerServer, checkers: Checkers, body: str, crash: Crash
) -> None:
    before = server.call(checkers.call(GOOD))
    assert server.call(checkers.call(body)) == crash
    assert server.call(checkers.call(GOOD)) == before


@pytest.mark.parametrize(
    "body",
    [
        "for _ in range(100): print('x' * 1_000_000); sys.stderr.write('y' * 1000)\nreturn True",
        "import builtins, re; builtins.sorted = lambda x: []; os.listdir = None\nreturn True",
        "os.environ.clear(); os.chdir('/'); sys.path.clear(); sys.modules.clear()\nreturn True",
        "subprocess.Popen(['sleep', '100'], start_new_session=True)\nreturn True",
        "threading.Thread(target=time.sleep, args=(100,)).start()\nreturn True",
        "os.mkdir('locked'); open('locked/f', 'w').close(); os.chmod('locked', 0)\nreturn True",
        "sys.setrecursionlimit(10)\nreturn True",
    ],
    ids=["prints", "patches", "wipes", "daemon", "thread", "locks", "limit"],
)
def test_a_vandal_gets_its_own_verdict_and_changes_no_other(
    server: CheckerServer, checkers: Checkers, body: str
) -> None:
    before = server.call(checkers.call(GOOD))
    assert server.call(checkers.call(body)) == Answer(True)
    assert server.call(checkers.call(GOOD)) == before


def test_nothing_that_a_checker_started_outlives_it(
    server: CheckerServer, checkers: Checkers
) -> None:
    mark, script = server.scratch / "heart", checkers.folder / "daemon.py"
    script.write_text(
        f"{HEAD}if os.fork(): os._exit(0)\nos.setsid()\nwhile True:\n"
        f"    with open({str(mark)!r}, 'a') as heart: heart.write('x')\n    time.sleep(.01)\n"
    )
    body = (
        f"subprocess.run([sys.executable, {str(script)!r}])\n"
        f"while not Path({str(mark)!r}).exists(): time.sleep(.01)\nreturn True"
    )
    assert server.call(checkers.call(body)) == Answer(True)
    beats = mark.stat().st_size
    time.sleep(0.2)
    assert mark.stat().st_size == beats
    mark.unlink()


def test_a_checker_that_kills_its_parent(server: CheckerServer, checkers: Checkers) -> None:
    killing = checkers.call("if os.getppid(): os.kill(os.getppid(), 9)\ntime.sleep(.1)\nreturn 1")
    weak = server.confinement == "weak"
    expected = Crash(kind="died", message="ended the checker server, twice")
    assert server.call(killing) == (expected if weak else Answer(1))
    assert server.call(checkers.call("return 2")) == Answer(2)


def test_a_server_that_died_is_started_again(server: CheckerServer, checkers: Checkers) -> None:
    assert server.call(checkers.call("return 1")) == Answer(1)
    old = server.pid
    assert old is not None
    os.kill(old, signal.SIGKILL)
    assert server.call(checkers.call("return 2")) == Answer(2)
    assert server.pid != old


def test_no_environment_no_terminal_a_folder_of_its_own(
    server: CheckerServer, checkers: Checkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.close()
    monkeypatch.setenv("PROVIDER_API_KEY", "secret")
    body = (
        "open('scratch', 'w').close()\n"
        "return [sorted(os.environ), sys.stdin.read(), os.listdir('.'), 'pytest' in sys.modules,\n"
        "        os.environ['HOME'] == os.environ['TMPDIR'] == os.getcwd()]"
    )
    names = ["HOME", "LANG", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "TMPDIR"]
    seen = server.call(checkers.call(body))
    assert isinstance(seen, Answer)
    assert [name for name in seen.value[0] if name not in ("LC_CTYPE", "PWD")] == names
    assert seen.value[1:] == ["", ["scratch"], False, True]
    assert server.call(checkers.call("return os.listdir('.')")) == Answer([])


def test_an_exception_in_the_middle_leaves_no_stale_verdict(
    server: CheckerServer, checkers: Checkers
) -> None:
    def interrupt(*_: Any) -> None:
        raise TimeoutError("the trial's own limit")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(TimeoutError):
            server.call(checkers.call("time.sleep(0.6)\nreturn 'stale'"))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert server.call(checkers.call("return 'fresh'")) == Answer("fresh")


def test_a_forked_worker_uses_a_server_of_its_own(
    server: CheckerServer, checkers: Checkers
) -> None:
    assert server.call(checkers.call("return 1")) == Answer(1)
    parent, scratch = server.pid, server.scratch
    child = os.fork()
    if child == 0:
        code = 1
        try:
            same = server.call(checkers.call("return 2")) == Answer(2)
            code = 0 if same and server.pid != parent else 2
            server.close()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert server.pid == parent
    assert scratch.exists()
    assert server.call(checkers.call("return 3")) == Answer(3)


def test_the_server_ends_with_its_worker(checkers: Checkers, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    call = checkers.call("time.sleep(100)")
    child = os.fork()
    if child == 0:
        try:
            server = CheckerServer(launchers=("weak",))
            server.scratch  # noqa: B018 - starts it
            told.write_text(str(server.pid))
            server.call(call)
        finally:
            os._exit(1)
    until = time.monotonic() + 20
    while not (told.exists() and told.read_text()) and time.monotonic() < until:
        time.sleep(0.01)
    pid = int(told.read_text())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert not alive(pid)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_close_ends_the_process_and_removes_the_folder(checkers: Checkers) -> None:
    server = CheckerServer()
    assert server.pid is None
    scratch, pid = server.scratch, server.pid
    assert pid is not None
    server.close()
    server.close()
    assert not scratch.exists()
    assert not alive(pid)


def test_no_launcher_works(monkeypatch: pytest.MonkeyPatch, checkers: Checkers) -> None:
    monkeypatch.setitem(LAUNCHERS, "weak", lambda scratch: ["sh", "-c", "echo no room >&2", "sh"])
    server = CheckerServer(launchers=("weak",))
    with pytest.raises(TrialFault) as caught:
        server.call(checkers.call("return 1"))
    assert str(caught.value) == "the checker server did not start (weak tried): no room"
    assert caught.value.status is Status.HARNESS_ERROR


def test_a_launcher_that_fails_gives_way_to_the_next(
    monkeypatch: pytest.MonkeyPatch, checkers: Checkers
) -> None:
    monkeypatch.setitem(LAUNCHERS, "bwrap", lambda scratch: ["false"])
    with CheckerServer(launchers=("bwrap", "weak")) as server:
        assert server.call(checkers.call("return 1")) == Answer(1)
        assert server.confinement == "weak"


def test_declared_checks_in_a_child(server: CheckerServer, checkers: Checkers) -> None:
    (checkers.workspace / "a.txt").write_text("a" * 40 + "!")
    quick = CheckSpec(id="quick", type="regex", params={"path": "a.txt", "pattern": "a+!"})
    slow = CheckSpec(id="slow", type="regex", params={"path": "a.txt", "pattern": "(a+)+$"})

    def ask(*specs: CheckSpec) -> Answer | Crash:
        return server.call(Evaluation(specs=specs, workspace=checkers.workspace, trace=Trace()))

    found = ask(quick)
    assert isinstance(found, Answer)
    assert [(r["id"], r["passed"]) for r in found.value] == [("quick", True)]
    assert ask(quick, slow) == Crash(kind="timeout", message="no verdict within 1 s")


def test_each_confinement_keeps_its_word(server: CheckerServer, checkers: Checkers) -> None:
    body = (
        "import socket\n"
        "def works(action, *args):\n"
        "    try: action(*args)\n"
        "    except OSError: return False\n"
        "    return True\n"
        "udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "return [works((workspace / 'new').touch), works(udp.connect, ('192.0.2.1', 9))]"
    )
    seen = server.call(checkers.call(body))
    assert isinstance(seen, Answer)
    writes, network = seen.value
    assert writes == (server.confinement != "bwrap")
    if server.confinement != "weak":
        assert not network


# --- What an agent left, run by a checker ---------------------------------------------------

IMPORTED = "sys.path.insert(0, str(workspace))\nimport left\nreturn left.VALUE"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(IMPORTED, id="imported"),
        pytest.param("os.chdir(workspace)\nsys.path.insert(0, '')\nimport left", id="from here"),
        pytest.param(
            "import runpy\nrunpy.run_path(str(workspace / 'left.py'))", id="run by its path"
        ),
        pytest.param(
            "import py_compile\npy_compile.compile(str(workspace / 'left.py'), "
            "str(workspace / 'made.pyc'), dfile='elsewhere.py')\n"
            "sys.path.insert(0, str(workspace))\nimport made",
            id="compiled under another name",
        ),
        pytest.param("subprocess.run([sys.executable, workspace / 'left.py'])", id="a process"),
        pytest.param("subprocess.run(['true'], cwd=workspace)", id="a process there"),
        pytest.param("os.system(f'true {workspace}/left.py')", id="a shell"),
        pytest.param(
            "subprocess.run(['true'], env={'PYTHONPATH': str(workspace)})", id="its environment"
        ),
    ],
)
def test_a_checker_that_runs_what_an_agent_left_is_noted(
    weak: CheckerServer, checkers: Checkers, body: str
) -> None:
    (checkers.workspace / "left.py").write_text("VALUE = 1\n")
    before = weak.intrusions
    answer = weak.call(checkers.call(body))
    assert isinstance(answer, Answer), answer
    assert weak.intrusions == before + 1


@pytest.mark.parametrize(
    "body",
    [
        "return compile((workspace / 'left.py').read_text(), 'left.py', 'exec') is not None",
        "import ast\nreturn bool(ast.parse((workspace / 'left.py').read_bytes()))",
        "import wave, subprocess\nsubprocess.run(['true'])",
        "import dataclasses\ndataclasses.make_dataclass('A', ['a'])",
        "raise ValueError(workspace)",
    ],
)
def test_a_checker_that_only_reads_is_not(
    weak: CheckerServer, checkers: Checkers, body: str
) -> None:
    (checkers.workspace / "left.py").write_text("VALUE = 1\n")
    before = weak.intrusions
    weak.call(checkers.call(body))
    assert weak.intrusions == before


@pytest.mark.parametrize("code", ["raise ValueError", "import os; os._exit(0)", "while True: pass"])
def test_what_runs_cannot_take_the_note_back(
    weak: CheckerServer, checkers: Checkers, code: str
) -> None:
    (checkers.workspace / "left.py").write_text(code)
    before = weak.intrusions
    assert isinstance(weak.call(checkers.call(IMPORTED)), Crash)
    assert weak.intrusions == before + 1
