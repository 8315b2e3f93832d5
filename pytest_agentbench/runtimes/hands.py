"""What our own agents do to a workspace. Runs inside the sandbox: standard library alone."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from pytest_agentbench.runtimes.pipe import Listener
else:  # run as a script, where no package is to be had
    sys.path.append(str(Path(__file__).parent))
    from pipe import Listener

#: Seconds for one command, bytes kept of each of its streams, bytes read of a file.
EXEC_SECONDS = 60.0
STREAM_LIMIT = 64 << 10
READ_LIMIT = 256 << 10


def perform(tool: str, args: Mapping[str, Any]) -> tuple[int, str]:
    """Do one thing in the current folder: a status as of HTTP, and the text of the result.

    Arguments are an agent's: whatever is wrong with them becomes a result of status 400.
    """
    action = TOOLS.get(tool)
    if action is None:
        return 404, f"there is no tool {tool!r}; there are: {', '.join(TOOLS)}"
    try:
        return action(args)
    except OSError as error:
        return 500, f"{error.strerror or error}: {error.filename or args.get('path', '')}"
    except (KeyError, TypeError, ValueError) as error:
        missing = isinstance(error, KeyError)
        return 400, f"missing argument {error}" if missing else f"bad arguments: {error}"


def read(args: Mapping[str, Any]) -> tuple[int, str]:
    return 200, _load(_text(args, "path"))[:READ_LIMIT].decode("utf-8", "replace")


def write(args: Mapping[str, Any]) -> tuple[int, str]:
    path, data = _text(args, "path"), _text(args, "content").encode("utf-8", "surrogateescape")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    _store(path, data)
    return 200, f"wrote {len(data)} bytes to {path}"


def edit(args: Mapping[str, Any]) -> tuple[int, str]:
    path, old, new = _text(args, "path"), _text(args, "old"), _text(args, "new")
    text = _load(path).decode("utf-8", "surrogateescape")
    found = text.count(old) if old else 0
    if found != 1:
        return 500, f"the old text must occur once in {path}; it occurs {found} times"
    _store(path, text.replace(old, new).encode("utf-8", "surrogateescape"))
    return 200, f"edited {path}"


def execute(args: Mapping[str, Any]) -> tuple[int, str]:
    """Run ``argv``, or ``command`` with bash; the result has the exit code and both streams."""
    argv = args.get("argv")
    if argv is None:
        argv = ["bash", "-c", _text(args, "command")]
    if not isinstance(argv, list) or not argv or not all(isinstance(part, str) for part in argv):
        raise ValueError("argv must be a list of texts, with at least one")
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout
    assert process.stderr
    heard = [_Heard(stream) for stream in (process.stdout, process.stderr)]
    try:
        code, status = process.wait(EXEC_SECONDS), 200
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        code, status = process.wait(), 504
    status = status if code == 0 or status == 504 else 500
    stdout, stderr = (each.text() for each in heard)
    ended = f"stopped after {EXEC_SECONDS:g} s" if status == 504 else f"exit code {code}"
    return status, f"{ended}\nstdout:\n{stdout}\nstderr:\n{stderr}"


TOOLS: dict[str, Callable[[Mapping[str, Any]], tuple[int, str]]] = {
    "read": read,
    "write": write,
    "edit": edit,
    "exec": execute,
}


class _Heard:
    """The first bytes of a stream."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._kept = bytearray()
        self._total = 0
        self._listener = Listener(stream, self._keep)

    def text(self) -> str:
        """What was written up to now."""
        self._listener.settle()
        text = bytes(self._kept).decode("utf-8", "replace")
        cut = self._total - len(self._kept)
        return text + f"\n[{cut} more bytes]" if cut > 0 else text

    def _keep(self, data: bytes) -> None:
        self._total += len(data)
        self._kept += data[: STREAM_LIMIT - len(self._kept)]


def _text(args: Mapping[str, Any], name: str) -> str:
    value = args[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text")
    return value


def _load(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(_regular(descriptor), "rb") as file:
        return file.read()


def _store(path: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK
    with os.fdopen(_regular(os.open(path, flags, 0o666)), "wb") as file:
        file.write(data)


def _regular(descriptor: int) -> int:
    """The descriptor, if it is of a file: a pipe or device would block or never end."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(22, "not a regular file")
    return descriptor
