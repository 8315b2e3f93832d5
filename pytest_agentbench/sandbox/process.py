"""One process: started, fed, read with a cap, and ended by its deadline."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Protocol, Self

from pytest_agentbench.execution import Command, Completed
from pytest_agentbench.sandbox import owner
from pytest_agentbench.sandbox.bounds import Bounds
from pytest_agentbench.sandbox.tree import Process
from pytest_agentbench.status import Status, TrialFault, status_of

_CHUNK = 1 << 16
#: Seconds between TERM and KILL, and for reading what is left in pipes after the kill.
GRACE = 1.0
_DRAIN = 0.5
#: Seconds between two looks at the limits.
_LOOK = 0.1


class Tree(Protocol):
    """The processes that a command becomes, from the ``leader`` that is started here."""

    #: Open files that the leader inherits.
    fds: Sequence[int]

    def stop(self, leader: int) -> None:
        """Ask the command to end, with TERM."""

    def members(self, leader: int) -> list[Process]:
        """The processes that are alive."""

    def end(self, leader: int) -> int:
        """Kill the whole tree and wait until it is dead; how many there were beside its first."""


def run_process(
    command: Command, argv: tuple[str, ...], tree: Tree, bounds: Bounds | None = None
) -> Completed:
    """Start ``argv``, which becomes ``command``, in a session of its own; it says whose it is.

    What crosses a limit that ``bounds`` watch is killed. Past its time limit the tree is asked to end and a second later, as after every other end,
    killed. Output beyond the limit is read and thrown away, so nobody blocks on a full pipe; a
    pipe that something unkillable holds open is given up.
    """
    started = time.monotonic()
    try:
        leader = subprocess.Popen(
            argv,
            cwd=command.cwd,
            env={**command.env, owner.VARIABLE: owner.stamp()},
            stdin=subprocess.PIPE if command.stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=tree.fds,
        )
    except (OSError, ValueError) as error:
        raise cannot_start(command, error) from error
    timed_out = False
    survivors = 0
    members = functools.partial(tree.members, leader.pid)
    with Pump(leader, command) as pump:
        try:
            crossed = functools.partial(bounds.crossed, members) if bounds else None
            ended = pump.until_ended(started + command.timeout, crossed)
            timed_out = not ended and time.monotonic() >= started + command.timeout
            if timed_out:
                tree.stop(leader.pid)
                pump.until_ended(time.monotonic() + GRACE)
        finally:
            survivors = tree.end(leader.pid)
            # Not to be had from a process that the kernel cannot end.
            with contextlib.suppress(subprocess.TimeoutExpired):
                leader.wait(_DRAIN)
        seconds = time.monotonic() - started
        pump.drain(time.monotonic() + _DRAIN)
    return Completed(
        exit_code=leader.returncode,
        timed_out=timed_out,
        seconds=seconds,
        stdout=bytes(pump.stdout.kept),
        stderr=bytes(pump.stderr.kept),
        stdout_bytes=pump.stdout.total,
        stderr_bytes=pump.stderr.total,
        survivors=survivors,
    )


class Stream:
    """An output stream: the first ``limit`` bytes kept, all counted."""

    def __init__(self, pipe: IO[bytes], limit: int) -> None:
        self.pipe = pipe
        self.limit = limit
        self.kept = bytearray()
        self.total = 0

    def read(self) -> bool:
        """Take what is there; False at the end of the stream."""
        try:
            data = os.read(self.pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return True
        self.total += len(data)
        self.kept += data[: max(0, self.limit - len(self.kept))]
        return bool(data)


class Pump:
    """Moves bytes between us and a process, in the thread that waits for it."""

    def __init__(self, leader: subprocess.Popen[bytes], command: Command) -> None:
        assert leader.stdout is not None
        assert leader.stderr is not None
        self.stdout = Stream(leader.stdout, command.output_limit)
        self.stderr = Stream(leader.stderr, command.output_limit)
        self._stdin = leader.stdin
        self._input = memoryview(command.stdin)
        self._ended = os.pidfd_open(leader.pid)
        self._selector = selectors.DefaultSelector()
        for stream in (self.stdout, self.stderr):
            os.set_blocking(stream.pipe.fileno(), False)
            self._selector.register(stream.pipe, selectors.EVENT_READ, stream)
        if self._stdin is not None:
            os.set_blocking(self._stdin.fileno(), False)
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        self._selector.register(self._ended, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        os.close(self._ended)
        self.stdout.pipe.close()
        self.stderr.pipe.close()
        if self._stdin is not None:
            self._stdin.close()

    def until_ended(self, deadline: float, crossed: Callable[[], bool] | None = None) -> bool:
        """Pump until the process ends; False when ``deadline`` (monotonic) comes first.

        ``crossed`` is asked now and then whether it must end at once.
        """
        look = time.monotonic() + _LOOK
        while (left := deadline - (now := time.monotonic())) > 0:
            if crossed and now >= look:
                if crossed():
                    return False
                look = time.monotonic() + _LOOK
            for key, _ in self._selector.select(min(left, _LOOK) if crossed else left):
                if key.fileobj == self._ended:
                    return True
                self._move(key)
        return False

    def drain(self, deadline: float) -> None:
        """Read what is left, until both streams end or ``deadline`` comes."""
        for fileobj in (self._ended, self._stdin):
            if fileobj is not None and fileobj in self._selector.get_map():
                self._selector.unregister(fileobj)
        while self._selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                self._move(key)

    def _move(self, key: selectors.SelectorKey) -> None:
        if isinstance(key.data, Stream):
            if not key.data.read():
                self._selector.unregister(key.fileobj)
            return
        assert self._stdin is not None
        try:
            self._input = self._input[os.write(self._stdin.fileno(), self._input[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._input = self._input[:0]
        if not self._input:
            self._selector.unregister(self._stdin)
            self._stdin.close()
            self._stdin = None


def program(command: Command) -> str:
    """The absolute path of the program, found with the command's own PATH."""
    name = command.argv[0]
    if "/" in name:
        path = str(command.cwd / name)
        found = path if Path(path).is_file() and os.access(path, os.X_OK) else None
    else:
        found = shutil.which(name, path=command.env.get("PATH", os.defpath))
    if found is None:
        raise TrialFault(
            Status.SANDBOX_ERROR,
            f"cannot start {name!r}: there is no such program on the PATH of the command",
        )
    return found


def cannot_start(command: Command, error: Exception) -> TrialFault:
    """The fault of a command that could not be started."""
    number = error.errno if isinstance(error, OSError) else None
    reason = error.strerror if isinstance(error, OSError) else str(error)
    if number == errno.ENOENT:
        reason = f"the working folder {command.cwd.name!r} is gone"
    return TrialFault(
        status_of(error, Status.SANDBOX_ERROR), f"cannot start {command.argv[0]!r}: {reason}"
    )
