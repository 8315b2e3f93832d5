"""The checker server: a warm interpreter that forks one child for every request.

It is a program of its own, started by ``client``, and holds nothing of pytest or of the plugin.
A request and a verdict are opaque bytes to it: they are read and written by the child and by
the client alone, so nothing that a checker does reaches the memory of this process.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pickle
import resource
import select
import shutil
import signal
import struct
import sys
import time
from collections.abc import Iterable
from os import _exit  # bound before any checker can replace it
from pathlib import Path
from typing import NoReturn

from pytest_agentbench.grading import call

#: Before a request: its time limit in seconds, the size in bytes of the names of modules that it
#: needs, and its own.
REQUEST = struct.Struct("!dHI")
#: Before a verdict: its kind (a key of ``KINDS``), and its size in bytes.
VERDICT = struct.Struct("!cI")
KINDS = {
    b"V": "verdict",
    b"R": "raised",
    b"T": "timeout",
    b"D": "died",
    b"I": "invalid",
    b"W": "writes",
}
#: Comes before a verdict, at once: code of the workspace is about to run. The kind of the verdict is
#: then sent on in lower case.
NOTE = VERDICT.pack(b"N", 0)
VERDICT_LIMIT = 4 << 20

MEMORY_LIMIT = 2 << 30
FILE_LIMIT = 256 << 20
PROCESS_LIMIT = 64
_TICK_MS = 50
#: Imported once, here, instead of by nearly every checker.
_WARM = ("collections", "csv", "datetime", "json", "math", "re", "subprocess", "tempfile")


def main(scratch: str, *, weak: bool) -> None:
    """Serve until the control pipe on stdin is closed. ``weak``: without a PID namespace."""
    requests, replies = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    if weak:
        _adopt_orphans()
    _import(_WARM)
    _write(replies, json.dumps({"pid": os.getpid()}).encode() + b"\n")
    while head := _read(requests, REQUEST.size):
        limit, names, size = REQUEST.unpack(head)
        _import(_read(requests, names).decode().split())
        request = _read(requests, size)
        folder = Path(scratch, f"run-{time.monotonic_ns()}")
        folder.mkdir()
        verdict, inlet = os.pipe()
        child = os.fork()
        if child == 0:
            for inherited in (requests, replies, verdict, null):
                os.close(inherited)
            _live(request, inlet, folder, limit, weak=weak)
        os.close(inlet)
        kind, payload = _watch(child, verdict, requests, limit)
        os.close(verdict)
        _kill_all()
        _remove(folder)
        _write(replies, VERDICT.pack(kind, len(payload)) + payload)
    _kill_all()


def _import(names: Iterable[str]) -> None:
    """Import here what every child would import anew. What fails to, fails in the child too."""
    for name in names:
        if name not in sys.modules:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
            gc.freeze()


def _live(request: bytes, inlet: int, folder: Path, limit: float, *, weak: bool) -> NoReturn:
    """The whole life of a child: run the checker, write its verdict, and end."""
    try:
        os.setsid()
        if weak:
            _die_with_parent()
        os.chdir(folder)
        _restrict(folder, limit)
        kind, payload = call.answer(
            pickle.loads(request),
            tell=lambda: _write(inlet, NOTE),
            end=lambda: _close(inlet, b"W", b"it sets out to change files"),
        )
    except BaseException as fault:  # noqa: BLE001 - an exit would unwind into the server
        kind, payload = b"R", f"{type(fault).__name__}: {fault}"[:500].encode("utf-8", "replace")
    if len(payload) > VERDICT_LIMIT:
        kind, payload = b"I", f"the verdict is larger than {VERDICT_LIMIT >> 20} MiB".encode()
    _close(inlet, kind, payload)


def _close(inlet: int, kind: bytes, payload: bytes) -> NoReturn:
    """Write the verdict, and end."""
    with contextlib.suppress(OSError):
        _write(inlet, VERDICT.pack(kind, len(payload)) + payload)
    while True:
        _exit(0)


def _restrict(folder: Path, limit: float) -> None:
    cpu = int(limit) + 5
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, FILE_LIMIT),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_AS, MEMORY_LIMIT),
    ):
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
    os.environ.update(HOME=str(folder), TMPDIR=str(folder))


def _watch(child: int, verdict: int, control: int, limit: float) -> tuple[bytes, bytes]:
    """Wait for the verdict, the child's end, the time limit, or the end of the client."""
    deadline = time.monotonic() + limit
    poll = select.poll()
    poll.register(verdict, select.POLLIN)
    poll.register(control, 0)  # its end is always reported
    data, noted = bytearray(), False
    status: int | None = None

    def told(kind: bytes, text: bytes) -> tuple[bytes, bytes]:
        return kind.lower() if noted else kind, text

    while (left := deadline - time.monotonic()) > 0:
        ready = poll.poll(min(_TICK_MS, left * 1000 + 1))
        for fd, _ in ready:
            if fd == control:
                _kill_all()
                _exit(0)
            data += (part := os.read(verdict, 1 << 16))
            if not part:
                return told(b"D", (_end(child) if status is None else _describe(status)).encode())
            while data.startswith(NOTE):
                noted = True
                del data[: len(NOTE)]
            if len(data) >= VERDICT.size:
                kind, size = VERDICT.unpack_from(data)
                if kind not in b"VRIW" or size > VERDICT_LIMIT:
                    return told(b"I", b"what it wrote to the verdict pipe is no verdict")
                if len(data) >= VERDICT.size + size:
                    return told(kind, bytes(data[VERDICT.size : VERDICT.size + size]))
        if not ready:
            if status is not None:  # a process that it left behind holds the pipe open
                return told(b"D", _describe(status).encode())
            status = _reap(child)
            if len(_tree(os.getpid())) > PROCESS_LIMIT:
                text = f"killed: it had started more than {PROCESS_LIMIT} processes"
                return told(b"D", text.encode())
    return told(b"T", f"no verdict within {limit:g} s".encode())


def _reap(child: int) -> int | None:
    """Reap all that has ended; the status of ``child`` if it is among them."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                status = ended[1]
    return status


def _end(child: int) -> str:
    """What to say of a child that has closed its verdict pipe: by its end, or by its own hand."""
    for _ in range(_TICK_MS):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return _describe(status)
        time.sleep(0.001)
    return "closed the pipe that its verdict was to go through"


def _describe(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"killed by {signal.Signals(-code).name} without a verdict"
    return f"ended with exit code {code} without a verdict"


def _kill_all() -> None:
    """Kill and reap every process that came from a request."""
    while True:
        if os.getpid() == 1:  # of a namespace of its own: no process in it is missed
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            for pid in _tree(os.getpid()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _tree(root: int) -> list[int]:
    """The descendants of a process, as far as they can be seen."""
    found: list[int] = []
    queue = [root]
    while queue:
        tasks = Path(f"/proc/{queue.pop()}/task")
        try:
            children = [
                int(pid)
                for task in tasks.iterdir()
                for pid in (task / "children").read_text().split()
            ]
        except (FileNotFoundError, ProcessLookupError):
            continue
        found += children
        queue += children
    return found


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # a checker may have locked folders of its own
        for parent, _, _ in os.walk(folder):
            with contextlib.suppress(OSError):
                Path(parent).chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)


def _adopt_orphans() -> None:
    _prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    _die_with_parent()


def _die_with_parent() -> None:
    _prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _read(fd: int, size: int) -> bytes:
    """Exactly ``size`` bytes, or none at all when the other end is closed."""
    data = bytearray()
    while len(data) < size:
        if not (part := os.read(fd, size - len(data))):
            return b""
        data += part
    return bytes(data)


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
