"""A command in a PID namespace of its own, whose end is the end of all in it."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from pytest_agentbench.execution import Command, Completed
from pytest_agentbench.sandbox import tree
from pytest_agentbench.sandbox.bounds import Bounds
from pytest_agentbench.sandbox.enforcement import enforcement
from pytest_agentbench.sandbox.process import cannot_start, run_process
from pytest_agentbench.status import Status, TrialFault

#: Scripts that run inside. They import nothing of this package.
INIT = Path(__file__).resolve().with_name("init.py")
FORWARDER = INIT.with_name("forwarder.py")
ENTER = INIT.with_name("enter.py")
SCRIPTS = (INIT, FORWARDER, ENTER)
#: The interpreter without a virtual environment around it.
PYTHON = Path(os.path.realpath(sys.executable))
#: What to start for a command: programs around what ``Namespace.init`` gives for it.
Wrap = Callable[[Command, tuple[str, ...]], tuple[str, ...]]
#: Seconds in which the kernel ends a namespace.
_END = 1.0


class Namespace:
    """The tree of processes below ``init``. A context manager."""

    def __init__(self) -> None:
        self._report, self._inlet = os.pipe()
        os.set_blocking(self._report, False)
        self.fds: Sequence[int] = (self._inlet,)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._report)
        os.close(self._inlet)

    def init(self, command: Command, rlimits: Mapping[str, int]) -> tuple[str, ...]:
        """What to start in the namespace for ``command``, with ``rlimits``."""
        view = command.view
        forwarded = view.network == "gateway" and view.gateway is not None
        socket = str(view.gateway / "s") if forwarded and view.gateway else ""
        limits = ",".join(f"{name}={value}" for name, value in rlimits.items())
        python = (str(PYTHON), "-I", "-S", "-B", str(INIT))
        return (*python, str(self._inlet), socket, limits, *command.argv)

    def run(
        self, command: Command, argv: tuple[str, ...], sandbox: str, bounds: Bounds
    ) -> Completed:
        """Start ``argv``, which must end in ``init(…)``. Raises ``TrialFault``."""
        done = run_process(command, argv, self, bounds)
        said = os.read(self._report, 1 << 12).splitlines() if self._reported() else []
        if b"up" not in said:
            raise TrialFault(
                Status.SANDBOX_ERROR,
                f"{sandbox} did not start {command.argv[0]!r}: {_complaint(done)}",
            )
        match said[-1].split():
            case [b"failed", number]:
                raise _cannot_start(command, int(number), sandbox)
            case [b"exit", status, left]:
                code = os.waitstatus_to_exitcode(int(status))
                return replace(done, exit_code=code, survivors=int(left))
        return replace(done, exit_code=-signal.SIGKILL)

    def stop(self, leader: int) -> None:
        for init in tree.children(leader):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(init.pid, signal.SIGTERM)

    def members(self, leader: int) -> list[tree.Process]:
        return tree.below(tree.children(leader))

    def end(self, leader: int) -> int:
        killed = 0
        for init in tree.children(leader):
            with contextlib.suppress(ProcessLookupError), _pidfd(init.pid) as fd:
                killed += max(0, len(tree.below([init])) - 2)
                signal.pidfd_send_signal(fd, signal.SIGKILL)
                # It is over when all others in its namespace are.
                select.select([fd], [], [], _END)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(leader, signal.SIGKILL)
        return killed

    def _reported(self) -> bool:
        return bool(select.select([self._report], [], [], 0)[0])


def run_wrapped(command: Command, sandbox: str, wrap: Wrap) -> Completed:
    """Run ``command`` by what ``wrap`` makes of it. Raises ``TrialFault``."""
    with Bounds(command.view, own_users=True) as bounds, Namespace() as space:
        own = wrap(command, space.init(command, bounds.rlimits))
        done = space.run(command, (*bounds.prefix, *own), sandbox, bounds)
        exceeded = bounds.exceeded(done.exit_code)
    enforced = enforcement(
        sandbox,
        files="hidden",
        read_only=True,
        network=command.view.network,
        capabilities="none",
        tree_kill="pid namespace",
        dies_with_worker=True,
        output_limit=command.output_limit,
        limits=bounds.enforced,
    )
    return replace(done, enforced=enforced, exceeded=exceeded)


def trial(wrap: Wrap) -> str:
    """Why ``true`` cannot be run by what ``wrap`` makes of a command; empty if it can."""
    command = Command(argv=("true",), cwd=Path("/"), env={"PATH": os.defpath})
    with Namespace() as space:
        argv = wrap(command, space.init(command, {}))
        try:
            done = subprocess.run(
                argv,
                check=False,
                capture_output=True,
                timeout=20,
                cwd="/",
                env=dict(command.env),
                pass_fds=space.fds,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    if done.returncode == 0:
        return ""
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return said[-1] if said else f"it ends with exit code {done.returncode}"


@contextlib.contextmanager
def _pidfd(pid: int) -> Iterator[int]:
    fd = os.pidfd_open(pid)
    try:
        yield fd
    finally:
        os.close(fd)


def _complaint(done: Completed) -> str:
    """Why it did not start: the last line that it wrote."""
    if done.timed_out:
        return f"it was not up when the time limit came, after {done.seconds:.1f} s"
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"it ended with exit code {done.exit_code}"


def _cannot_start(command: Command, number: int, sandbox: str) -> TrialFault:
    name = command.argv[0]
    if number == errno.ENOENT and "/" in name and os.access(command.cwd / name, os.X_OK):
        reason = (
            f"the sandbox {sandbox} hides it, or the interpreter that it names; add their folders "
            "to 'readable' of the runtime's profile"
        )
    elif number == errno.ENOENT:
        reason = "there is no such program on the PATH of the command"
    else:
        return cannot_start(command, OSError(number, os.strerror(number)))
    return TrialFault(Status.SANDBOX_ERROR, f"cannot start {name!r}: {reason}")
