"""A shell in a kept workspace: in a copy of it, in the kind of sandbox that its trial had."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import sys
import termios
import threading
import tty
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_agentbench.attempt import clean_environment
from pytest_agentbench.execution import Command, Completed, Limits, View
from pytest_agentbench.record import Record
from pytest_agentbench.report.trial_view import TrialView
from pytest_agentbench.sandbox import leftovers, registry
from pytest_agentbench.sandbox.enforcement import LIMITS
from pytest_agentbench.sandbox.protocol import Sandbox

_INSIDE = Path(__file__).resolve().with_name("terminal_inside.py")
#: Seconds after which even an interactive shell ends.
_LONGEST = 12 * 3600.0
_CHUNK = 1 << 16


class NoWorkspace(Exception):
    """There is nothing to open; the message says what to do."""


def open_shell(view: TrialView, argv: Sequence[str], *, sandbox: str = "") -> int:
    """Run ``argv``, or a shell if it is empty, in a copy of the workspace; the exit code.

    With a terminal on standard input the shell is interactive, else it reads commands there.
    ``sandbox`` names another one than the trial's. Raises ``NoWorkspace``,
    ``SandboxUnavailable`` and ``TrialFault``.
    """
    if view.workspace is None or view.record is None:
        raise NoWorkspace(
            f"the workspace of {view.planned.node_id} was not kept; run the trial again with "
            "--keep-workspace=all (or failed) and another --run-dir"
        )
    name = sandbox or view.record.sandbox or "auto"
    choice = registry.choose(name, {}, (Path.cwd(), Path.home()))
    made = choice.make()
    try:
        with leftovers.temporary("shell-") as base:
            command = _command(view.record, view.workspace, base, tuple(argv))
            if argv or not os.isatty(0):
                return _said(made.run(command))
            print(
                f"a copy of the workspace in the sandbox {choice.name}, without a network; "
                "what you change is thrown away; exit ends it",
                flush=True,
            )
            return _code(_interactive(made, command, base))
    finally:
        made.close()


def _command(record: Record, workspace: Path, base: Path, argv: tuple[str, ...]) -> Command:
    shutil.copytree(workspace, base / "ws", symlinks=True)
    own = [base / name for name in ("home", "tmp", "line")]
    for folder in own:
        folder.mkdir(mode=0o700)
    enforced = {name: record.enforced.get(name) for name in LIMITS}
    limits = {name: entry["limit"] for name, entry in enforced.items() if isinstance(entry, dict)}
    piped = b"" if argv or os.isatty(0) else sys.stdin.buffer.read()
    return Command(
        argv=argv or ("bash",),
        cwd=base / "ws",
        env=clean_environment(base / "home", base / "tmp")
        | {"TERM": os.environ.get("TERM", "dumb")},
        stdin=piped,
        timeout=_LONGEST,
        output_limit=64 << 20,
        view=View(writable=(base / "ws", *own), readable=(_INSIDE,), limits=Limits(**limits)),
    )


def _said(done: Completed) -> int:
    sys.stdout.buffer.write(done.stdout)
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(done.stderr)
    sys.stderr.buffer.flush()
    return _code(done)


def _code(done: Completed) -> int:
    for limit in done.exceeded:
        print(f"agentbench shell: it ran into a limit: {limit}", file=sys.stderr)
    code = 1 if done.exit_code is None else done.exit_code
    return code if code >= 0 else 128 - code


def _interactive(sandbox: Sandbox, command: Command, base: Path) -> Completed:
    """Join our terminal to one inside, over a socket in a folder that both see."""
    size = shutil.get_terminal_size()
    path = base / "line" / "s"
    inside = ("python3", "-I", "-S", "-B", str(_INSIDE), str(path))
    command = replace(command, argv=(*inside, str(size.lines), str(size.columns)))
    with socket.socket(socket.AF_UNIX) as listener, _raw():
        listener.bind(str(path))
        listener.listen(1)
        ended, end = socket.socketpair()
        with ended, end:
            relay = threading.Thread(target=_relay, args=(listener, ended))
            relay.start()
            try:
                return sandbox.run(command)
            finally:
                end.shutdown(socket.SHUT_WR)
                relay.join()


def _relay(listener: socket.socket, ended: socket.socket) -> None:
    """Move what is typed and shown, until the line ends or ``ended`` says that nothing follows."""
    if listener not in select.select([listener, ended], [], [])[0]:
        return
    line, _ = listener.accept()
    with line, contextlib.suppress(ConnectionError):
        sources: list[socket.socket | int] = [line, ended, 0]
        while True:
            ready, _, _ = select.select(sources, [], [])
            if line in ready:
                if not (shown := line.recv(_CHUNK)):
                    return
                _write(shown)
            elif ended in ready:
                return
            elif 0 in ready:
                if typed := os.read(0, _CHUNK):
                    line.sendall(typed)
                else:
                    sources.remove(0)


def _write(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(1, left) :]


@contextlib.contextmanager
def _raw() -> Iterator[None]:
    """Each key goes inside as it is, Ctrl-C too."""
    before = termios.tcgetattr(0)
    try:
        # What was typed already is for the shell: not to be thrown away, as by default.
        tty.setraw(0, termios.TCSADRAIN)
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
