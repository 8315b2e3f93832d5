"""The worker's end of the checker server: starts it when first needed, and again if it dies."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, cast

from pytest_agentbench.grading.bytecode import Compiler
from pytest_agentbench.grading.call import Code, Request, compiled, modules
from pytest_agentbench.grading.confinement import LAUNCHERS
from pytest_agentbench.grading.server import KINDS, REQUEST, VERDICT, VERDICT_LIMIT
from pytest_agentbench.sandbox import leftovers
from pytest_agentbench.status import Status, TrialFault

_START_SECONDS = 30.0
#: What the server is given beyond a request's own limit to kill a tree and answer.
_GRACE_SECONDS = 10.0
_REHEARSALS = 64
_PROGRAM = (
    "import os, sys; sys.path.insert(0, sys.argv[1]); "
    "from pytest_agentbench.grading.server import main; "
    "main(sys.argv[2], weak=os.getpid() != 1)"
)
T = TypeVar("T")
Failure = Literal["raised", "timeout", "died", "invalid", "writes"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a checker returned, as plain JSON."""

    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """A checker that gave no verdict. ``message`` is one short line for people."""

    kind: Failure
    message: str


class CheckerServer:
    """Runs checkers, each in a process of its own; a context manager.

    ``limit`` is the time that a checker gets, in seconds. ``launchers`` are tried in order.
    """

    def __init__(self, *, limit: float = 60.0, launchers: tuple[str, ...] | None = None) -> None:
        self.limit = limit
        self._launchers = launchers or tuple(LAUNCHERS)
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._scratch: Path | None = None
        self._confinement = ""
        self._rehearsed: dict[Hashable, Any] = {}
        #: How many checkers ran code of the workspace that they were given, so far.
        self.intrusions = 0
        #: Code that was seen to change files: it is given a copy of a workspace at once.
        self.writers: set[Code] = set()
        self._compiler = Compiler()

    @property
    def scratch(self) -> Path:
        """A folder that checkers may write to; it goes with the server."""
        self._start()
        assert self._scratch is not None
        return self._scratch

    @property
    def confinement(self) -> str:
        """``bwrap``: no network, read-only file system, whole trees killed; ``unshare``: without
        the second; ``weak``: a subreaper alone."""
        self._start()
        return self._confinement

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def call(self, request: Request, *, limit: float | None = None) -> Answer | Crash:
        """Run one checker. Raises ``TrialFault`` (``harness_error``) when no server starts."""
        limit = self.limit if limit is None else limit
        body = pickle.dumps(compiled(request, self._compiler))
        names = " ".join(modules(request)).encode()
        head = REQUEST.pack(limit, len(names), len(body))
        for _ in range(2):
            self._start()
            answered = False
            try:
                reply = self._exchange(head + names + body, limit)
                answered = reply is not None
            finally:
                if not answered:  # also when a signal's exception passes: its reply is still due
                    self._stop()
            if reply is not None:
                kind, payload = reply
                self.intrusions += kind.islower()
                return _read_answer(kind.upper(), payload)
        return Crash(kind="died", message="ended the checker server, twice")

    def rehearse(self, key: Hashable, ask: Callable[[], T]) -> T:
        """What ``ask`` gave when it was first called for ``key``: the verdict of a checker on a
        reference answer is the same every time. The latest ``_REHEARSALS`` are kept."""
        if key not in self._rehearsed:
            answer = ask()
            if len(self._rehearsed) == _REHEARSALS:
                del self._rehearsed[next(iter(self._rehearsed))]
            self._rehearsed[key] = answer
        return cast(T, self._rehearsed[key])

    def close(self) -> None:
        """End the server and remove its folder; a later call starts another."""
        self._stop()
        if self._scratch is not None:
            with contextlib.suppress(OSError):
                leftovers.remove(self._scratch.parent)
            self._scratch = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start(self) -> None:
        if self._process is not None and self._owner != os.getpid():
            self._forget()
        if self._process is not None:
            return
        self._owner = os.getpid()
        if self._scratch is None:
            # Checkers may write to it, and not to what says whose it is.
            self._scratch = leftovers.folder("checkers-").resolve() / "scratch"
            self._scratch.mkdir()
        for name in self._launchers:
            prefix = LAUNCHERS[name](self._scratch)
            if prefix is not None and self._launch(prefix):
                self._confinement = name
                return
        said = self._scratch / "stderr"
        errors = said.read_text(errors="replace").split("\n") if said.exists() else []
        self.close()
        reason = next(filter(None, reversed(errors)), "it ended without a word")
        raise TrialFault(
            Status.HARNESS_ERROR,
            f"the checker server did not start ({', '.join(self._launchers)} tried): {reason}",
        )

    def _launch(self, prefix: list[str]) -> bool:
        assert self._scratch is not None
        package = Path(__file__).resolve().parents[2]
        with (self._scratch / "stderr").open("wb") as errors:
            self._process = subprocess.Popen(
                [
                    *prefix,
                    sys.executable,
                    "-s",
                    "-P",
                    "-B",
                    "-c",
                    _PROGRAM,
                    str(package),
                    str(self._scratch),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                cwd=self._scratch,
                env=_environment(self._scratch),
                start_new_session=True,
            )
        hello = self._receive(1, time.monotonic() + _START_SECONDS)
        while hello and not hello.endswith(b"\n"):
            more = self._receive(1, time.monotonic() + _START_SECONDS)
            hello = hello + more if more else b""
        if hello:
            return True
        self._end_process()
        return False

    def _exchange(self, message: bytes, limit: float) -> tuple[bytes, bytes] | None:
        """The reply, or None when the server is gone or has not answered in time."""
        deadline = time.monotonic() + limit + _GRACE_SECONDS
        if not self._send(message, deadline):
            return None
        head = self._receive(VERDICT.size, deadline)
        if head is None:
            return None
        kind, size = VERDICT.unpack(head)
        payload = self._receive(size, deadline) if size <= VERDICT_LIMIT else None
        return None if payload is None else (kind, payload)

    def _send(self, message: bytes, deadline: float) -> bool:
        assert self._process is not None
        assert self._process.stdin is not None
        fd = self._process.stdin.fileno()
        os.set_blocking(fd, False)
        view = memoryview(message)
        while view:
            _, ready, _ = select.select([], [fd], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return False
            try:
                view = view[os.write(fd, view) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                return False
        return True

    def _receive(self, size: int, deadline: float) -> bytes | None:
        assert self._process is not None
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        data = bytearray()
        while len(data) < size:
            ready, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(fd, size - len(data)) if ready else b""
            if not part:
                return None
            data += part
        return bytes(data)

    def _stop(self) -> None:
        if self._process is not None and self._owner != os.getpid():
            self._forget()
        self._end_process()

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()

    def _forget(self) -> None:
        """Let go of a server that belongs to the process that this one was forked from."""
        process, self._process, self._scratch = self._process, None, None
        if process is not None and process.stdin and process.stdout:
            process.stdin.close()
            process.stdout.close()
            process.returncode = 0  # it is not this process's to wait for


def _environment(scratch: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        # The order of a set in a checker's detail is the same in every run.
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _read_answer(kind: bytes, payload: bytes) -> Answer | Crash:
    name = KINDS.get(kind, "invalid")
    if name != "verdict":
        return Crash(kind=cast(Failure, name), message=payload.decode("utf-8", "replace"))
    try:
        return Answer(json.loads(payload, parse_constant=_refuse))
    except (ValueError, RecursionError) as fault:
        return Crash(kind="invalid", message=f"the verdict is not JSON: {fault}")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of JSON")
