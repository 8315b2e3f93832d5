"""Runs hostile agents in one sandbox through the runner and the grader, and says what each got.

Usage: stage.py SANDBOX FOLDER, names of agents on stdin, a line of JSON for each on stdout.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from pytest_agentbench.execution import Command, Completed, Execution, View
from pytest_agentbench.gateway.client import Gateway, gateway
from pytest_agentbench.grade import Grade
from pytest_agentbench.grading.client import CheckerServer
from pytest_agentbench.grading.grader import Grader
from pytest_agentbench.runner import RunFault, run_phase
from pytest_agentbench.runtimes.protocol import RuntimeInfo
from pytest_agentbench.sandbox import leftovers
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.sandbox.registry import choose
from pytest_agentbench.scenario.model import CheckSpec, InputFile, Scenario, Step
from pytest_agentbench.status import Status, TrialFault
from pytest_agentbench.trace.events import Event, EventKind, Trace
from pytest_agentbench.trial import AgentRun, ModelProfile, Phase, RuntimeProfile, Trial
from pytest_agentbench.workspace import Workspace, clear, materialise
from tests.hostile import agents

AGENTS = Path(agents.__file__).resolve()
#: Seconds that an agent gets, and those after which its verdict is late.
LIMIT, LATE = 2.0, 3.0
LIMITS = {"1 GB of stdout": 20.0, "10,000 files": 10.0, "reads what is not its own": 10.0}
#: What a scenario allows of the machine, where that is what the agent attacks; the word with which
#: the sandbox says so.
BOUNDS = {
    "fork bomb of 200": ({"processes": 64}, "processes"),
    "fills the disk": ({"workspace_mb": 32}, "workspace"),
    "allocates past its memory": ({"memory_mb": 128}, "memory"),
}
#: MiB by which the harness may grow.
GROWTH = 64
CHECKER = """
def tidy(workspace, trace):
    '''{mark}'''
    return (workspace / "answer.txt").read_text() == "done"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What came of one agent. ``misses`` says what it got away with; empty is as it should be."""

    agent: str
    verdict: str = ""
    seconds: float = 0.0
    misses: tuple[str, ...] = ()


class Doors:
    """Sockets of the host that no agent should reach; ``opened`` names those that one came in by.

    A context manager.
    """

    def __init__(self, folder: Path) -> None:
        self.opened: set[str] = set()
        self.abstract = f"agentbench-{secrets.token_hex(8)}"
        self.addresses: list[tuple[str, int]] = []
        self.gateway = folder / "agentbench-gw-other" / "g" / "s"
        self.gateway.parent.mkdir(parents=True)
        self._listeners: list[socket.socket] = []

    def __enter__(self) -> Self:
        for name, host in (("loopback", "127.0.0.1"), ("a network address", outward())):
            if host:
                listener = socket.create_server((host, 0))
                self.addresses.append(listener.getsockname()[:2])
                self._open(name, listener)
        for name, address in (
            ("an abstract socket", f"\0{self.abstract}"),
            ("another trial's gateway", str(self.gateway)),
        ):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(address)
            listener.listen()
            self._open(name, listener)
        self.gateway.chmod(0o666)
        return self

    def __exit__(self, *_: object) -> None:
        for listener in self._listeners:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def _open(self, name: str, listener: socket.socket) -> None:
        self._listeners.append(listener)
        threading.Thread(target=self._accept, args=(name, listener), daemon=True).start()

    def _accept(self, name: str, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.close()
            self.opened.add(name)


def outward() -> str:
    """An address of this host that is not its loopback's, or nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        host = str(probe.getsockname()[0])
    return "" if host.startswith("127.") else host


class Tap:
    """A sandbox as it is, but that what goes to the gateway is written down.

    The view is the runner's, and the gateway in it a relay to the real one.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.name = sandbox.name
        self.forwards = sandbox.forwards
        self.said = bytearray()

    def run(self, command: Command) -> Completed:
        real = command.view.gateway
        if real is None or not self.forwards:
            return self._sandbox.run(command)
        with leftovers.temporary("gw-") as base, socket.socket(socket.AF_UNIX) as listener:
            folder = base / "g"
            folder.mkdir()
            listener.bind(str(folder / "s"))
            listener.listen()
            threading.Thread(target=self._accept, args=(listener, real), daemon=True).start()
            try:
                view = replace(command.view, gateway=folder)
                return self._sandbox.run(replace(command, view=view))
            finally:
                listener.shutdown(socket.SHUT_RDWR)

    def close(self) -> tuple[str, ...]:
        return self._sandbox.close()

    def _accept(self, listener: socket.socket, real: Path) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                gateway = socket.socket(socket.AF_UNIX)
                gateway.connect(str(real / "s"))
                for source, target, kept in ((client, gateway, self.said), (gateway, client, None)):
                    work = (source, target, kept)
                    threading.Thread(target=self._relay, args=work, daemon=True).start()

    def _relay(self, source: socket.socket, target: socket.socket, kept: bytearray | None) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if kept is not None:
                    kept += data
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


class Hostile:
    """A runtime that is an agent of ``agents``."""

    name = "hostile"

    def __init__(self, agent: str, facts: dict[str, Any], install: Path) -> None:
        self.agent = agent
        self.facts = facts
        self.install = install
        self.done = Completed()

    def probe(self) -> RuntimeInfo:
        return RuntimeInfo(version="1", calls_model=False, endpoint=True)

    def prepare(self, run: AgentRun) -> None:
        pass

    def command(self, run: AgentRun) -> Command:
        assert run.model is not None
        host, _, port = run.model.url.removeprefix("http://").partition(":")
        facts = self.facts | {"model": (host, int(port)), "token": run.model.token}
        return Command(
            argv=(sys.executable, "-I", "-S", "-B", str(AGENTS), self.agent, json.dumps(facts)),
            cwd=run.workspace,
            env={"HOSTILE": self.facts["mark"]},
            view=View(readable=(AGENTS, self.install)),
        )

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        self.done = done
        said = done.stdout.decode("utf-8", "replace")
        events = (Event(kind=EventKind.ASSISTANT, text=said),)
        return Execution(status=Status.COMPLETED, trace=Trace(events=events))


class Project:
    """What an agent must not see: each file holds a fresh mark."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.marks: dict[str, str] = {}
        self.files: dict[str, Path] = {}
        places = {
            "scenario": "project/scenarios/demo.yaml",
            "checker": "project/checkers/demo.py",
            "solution": "project/solutions/answer.txt",
            "ledger": "project/reports/run/ledger.jsonl",
            "home folder": "home/.config/key",
            "another workspace": "tmp/agentbench-other/ws/notes.txt",
            "project in an install folder": "install/project/solution.txt",
        }
        for name, place in places.items():
            path = root / place
            clear(path.parent)
            path.parent.mkdir(parents=True)
            mark = self.mark(name)
            path.write_text(CHECKER.format(mark=mark) if path.suffix == ".py" else f"done {mark}")
            self.files[name] = path
        self.before = self.state()

    def mark(self, name: str) -> str:
        self.marks[name] = secrets.token_urlsafe(24)
        return self.marks[name]

    def state(self) -> dict[str, object]:
        """What an agent might change: contents, modes, neighbours."""
        return {
            name: (path.read_bytes(), path.stat().st_mode, neighbours(path))
            if path.is_file()
            else None
            for name, path in self.files.items()
        }

    def changed(self) -> list[str]:
        now = self.state()
        return [name for name in self.files if now[name] != self.before[name]]

    def found(self, texts: Iterable[bytes]) -> list[str]:
        """The names of the marks that stand in one of the texts, plain, in hex, or in base64."""
        all_texts = b"\n".join(texts)
        folded = all_texts.lower()
        return [
            name for name, mark in self.marks.items() if stands(mark.encode(), all_texts, folded)
        ]


def stands(mark: bytes, text: bytes, folded: bytes) -> bool:
    # Of base64, what does not depend on the neighbours, at each of the three places in a triple.
    coded = (base64.b64encode(b"x" * shift + mark)[4:-4] for shift in range(3))
    url = (base64.urlsafe_b64encode(b"x" * shift + mark)[4:-4] for shift in range(3))
    return mark.hex().encode() in folded or any(each in text for each in (mark, *coded, *url))


class Stage:
    """Plays agents in the sandbox ``name``. ``root`` is a folder of the user's."""

    def __init__(
        self, name: str, root: Path, server: CheckerServer, doors: Doors, models: Gateway
    ) -> None:
        self.root = root
        self.server = server
        self.models = models
        self.doors = doors
        hidden = (root / "project", root / "install" / "project", root / "home")
        self.make = choose(name, hidden=hidden).make

    def play(self, agent: str) -> Cell:
        self.doors.opened.clear()
        project = Project(self.root)
        with other_process(project.mark("environment of another process")) as decoy:
            cell, misses = self._attack(agent, project, decoy)
        misses += listed("changed", project.changed())
        misses += listed("reached", sorted(self.doors.opened))
        Project(self.root)
        misses += self.next()
        return replace(cell, misses=tuple(misses))

    def _attack(self, agent: str, project: Project, decoy: int) -> tuple[Cell, list[str]]:
        bounds, word = BOUNDS.get(agent, ({}, ""))
        limit = LIMITS.get(agent, LIMIT)
        sandbox = Tap(self.make())
        mark = secrets.token_hex(8)
        facts = {
            "mark": mark,
            "seconds": limit + 20,
            "harness": os.getpid(),
            "pids": [os.getpid(), decoy],
            "targets": [str(path) for path in project.files.values()],
            "folders": [str(self.root / name) for name in ("project", "home", "tmp", "install")],
            "solution": str(project.files["solution"]),
            "addresses": self.doors.addresses,
            "abstract": self.doors.abstract,
            "gateway": str(self.doors.gateway),
        }
        runtime = Hostile(agent, facts, self.root / "install")
        misses: list[str] = []
        with trial_folder(self.root) as workspace:
            memory, began = peak(), time.monotonic()
            grade, verdict = self._run(runtime, sandbox, workspace, limit, bounds)
            seconds = time.monotonic() - began
            if grade is None:
                misses.append(f"no verdict: {verdict.partition(':')[0]}")
            elif grade.passed:
                misses.append("passed")
            if seconds > limit + LATE:
                misses.append("verdict too late")
            if peak() - memory > GROWTH:
                misses.append("filled the harness's memory")
            if b"Traceback" in runtime.done.stderr:
                misses.append(f"the agent broke: {runtime.done.stderr.decode()[-300:]}")
            if survives(workspace.root, mark):
                misses.append("survivor")
            if word and not held(word, bounds, runtime.done, workspace.root):
                misses.append(f"no limit: {word}")
            said = (sandbox.said, runtime.done.stdout, runtime.done.stderr)
            graded = json.dumps(asdict(grade)).encode() if grade else b""
            texts = (*said, graded, *contents(workspace.root))
            misses += listed("read", project.found(texts))
            end(mark)
        left = [*sandbox.close(), *(["its folder"] if workspace.root.parent.exists() else [])]
        misses += listed("left", left)
        return Cell(agent=agent, verdict=verdict, seconds=round(seconds, 2)), misses

    def next(self) -> list[str]:
        """What the trial after this one finds that it should not, or does not that it should."""
        sandbox = Tap(self.make())
        runtime = Hostile("honest", {"mark": secrets.token_hex(8)}, self.root / "install")
        with trial_folder(self.root) as workspace:
            grade, verdict = self._run(runtime, sandbox, workspace, 20.0, {})
            sandbox.close()
        try:
            found = json.loads(runtime.done.stdout)
        except ValueError:
            found = None
        clean = {"workspace": ["input.txt"], "home": [], "temporary": [], "model": 200}
        if grade is None or not grade.passed or found != clean:
            return [f"the next trial: {verdict}, {found}"]
        if sandbox.forwards and b"honest" not in sandbox.said:
            return ["the next trial: its request was not seen"]
        return []

    def _run(
        self,
        runtime: Hostile,
        sandbox: Tap,
        workspace: Workspace,
        limit: float,
        bounds: dict[str, Any],
    ) -> tuple[Grade | None, str]:
        """The grade, and the verdict in a word."""
        trial = make_trial(self.root, limit, bounds)
        workspace = replace(workspace, fill=lambda root: materialise(trial.scenario.inputs, root))
        workspace.reset()
        try:
            execution = run_phase(
                trial,
                runtime=runtime,
                sandbox=sandbox,
                root=workspace.root.parent,
                workspace=workspace,
                gateway=self.models,
            )
            grade = Grader(self.server, sandbox).grade(trial.scenario, execution, workspace.root)
        except RunFault as fault:
            return None, f"{fault.execution.status}: {fault}"
        except TrialFault as fault:
            return None, f"{fault.status}: {fault}"
        return grade, "passed" if grade.passed else execution.status.value


def neighbours(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


def listed(what: str, names: Sequence[str]) -> list[str]:
    return [f"{what}: {', '.join(names)}"] if names else []


def make_trial(root: Path, limit: float, bounds: dict[str, Any]) -> Trial:
    checker = {"file": str(root / "project/checkers/demo.py"), "function": "tidy"}
    scenario = Scenario(
        id="demo",
        path=root / "project/scenarios/demo.yaml",
        prompt="Write done into answer.txt.",
        sandbox=bounds,
        inputs=(InputFile(dest="input.txt", content=b"in\n"),),
        checks=(
            CheckSpec(
                id="a", type="file_contains", params={"path": "answer.txt", "pattern": "done"}
            ),
            CheckSpec(id="b", type="python", params=checker),
        ),
        solution=(Step(verb="write", path="answer.txt", content="done"),),
    )
    return Trial(
        scenario=scenario,
        runtime=RuntimeProfile(name="hostile", adapter="hostile"),
        model=ModelProfile(name="script", backend="scripted", options={"policy": "refuse"}),
        mode="baseline",
        index=1,
        phases=(Phase(name="baseline", seconds=limit),),
        max_attempts=1,
    )


@contextlib.contextmanager
def trial_folder(root: Path) -> Iterator[Workspace]:
    with leftovers.temporary() as base:
        yield Workspace(base / "ws")


@contextlib.contextmanager
def other_process(mark: str) -> Iterator[int]:
    """A process of the same user that has the mark in its environment."""
    quiet = subprocess.DEVNULL
    # It ends with its standard input, so also when this process is killed.
    with subprocess.Popen(
        ("cat",), env={"SECRET": mark}, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet
    ) as process:
        yield process.pid


def contents(root: Path) -> Iterator[bytes]:
    """Names and contents of what lies in a workspace; no link is followed."""
    for folder, folders, names in os.walk(root):
        yield from (os.fsencode(name) for name in (*folders, *names))
        for name in names:
            path = Path(folder, name)
            with contextlib.suppress(OSError):
                yield str(path.readlink()).encode() if path.is_symlink() else regular(path)


def regular(path: Path) -> bytes:
    # A hard link to what is not its own is seen here by what it shows.
    return path.read_bytes() if path.is_file() and path.stat().st_size < 8 << 20 else b""


def held(word: str, bounds: dict[str, Any], done: Completed, root: Path) -> bool:
    """Whether a limit held: the sandbox says so, or nothing could be started beyond it."""
    if any(text.startswith(word) for text in done.exceeded):
        return True
    started = root / "started"
    return started.is_file() and int(started.read_text()) < bounds["processes"]


def survives(root: Path, mark: str) -> bool:
    """Whether something goes on: by the files that it makes grow, and by looking for it."""
    before = beats(root)
    time.sleep(0.5 if before else 0.1)
    return beats(root) != before or bool(living(mark))


def beats(root: Path) -> dict[str, int]:
    found = {}
    for path in root.glob("beat-*"):
        with contextlib.suppress(OSError):
            found[path.name] = path.stat().st_size
    return found


def living(mark: str) -> list[int]:
    """The processes with ``mark`` in their environment or arguments."""
    found = []
    for path in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if path.name.isdecimal() and int(path.name) != os.getpid():
                said = (path / "environ").read_bytes() + (path / "cmdline").read_bytes()
                state = (path / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                if mark.encode() in said and state not in "ZX":
                    found.append(int(path.name))
    return found


def end(mark: str) -> None:
    """End what a weak sandbox left, as far as it can be found; the rest ends by itself."""
    deadline = time.monotonic() + 2
    while (alive := living(mark)) and time.monotonic() < deadline:
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def peak() -> float:
    """MiB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(name: str, root: Path) -> None:
    (root / "tmp").mkdir(exist_ok=True)
    tempfile.tempdir = str(root / "tmp")
    leftovers.reap()
    shutil.rmtree(root / "tmp" / "agentbench-gw-other", ignore_errors=True)
    out = os.fdopen(os.dup(1), "w")
    with CheckerServer(limit=10.0) as server, Doors(root / "tmp") as doors, gateway() as models:
        stage = Stage(name, root, server, doors, models)
        Project(root)
        if slow := stage.next():
            raise SystemExit(slow[0])
        print("up", file=out, flush=True)
        for line in sys.stdin:
            print(json.dumps(asdict(stage.play(line.strip()))), file=out, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
