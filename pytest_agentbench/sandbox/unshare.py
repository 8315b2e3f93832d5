"""Namespaces by ``unshare`` of util-linux: what bubblewrap does, where there is none."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

from pytest_agentbench.execution import Command, Completed
from pytest_agentbench.sandbox import namespace
from pytest_agentbench.sandbox.layout import layout
from pytest_agentbench.sandbox.namespace import ENTER, INIT

_PROGRAMS = ("setpriv", "unshare")
_OPTIONS = (
    "--user",
    "--map-root-user",
    "--mount",
    "--pid",
    "--fork",
    "--ipc",
    "--uts",
    "--kill-child",
)


class Unshare:
    """Each command in namespaces of its own, seeing its ``View`` and the system's programs.

    It is root there, of nothing: without a capability.
    """

    name = "unshare"
    forwards = True

    def __init__(self, *, hidden: tuple[Path, ...] = ()) -> None:
        self._hidden = hidden

    @staticmethod
    def problem() -> str:
        return _problem()

    def run(self, command: Command) -> Completed:
        return namespace.run_wrapped(command, self.name, functools.partial(wrap, self._hidden))

    def close(self) -> tuple[str, ...]:
        return ()


def wrap(hidden: tuple[Path, ...], command: Command, init: tuple[str, ...]) -> tuple[str, ...]:
    """The programs that stand around ``init``, which ``Namespace.init`` gives."""
    steps = layout(command.view, hidden)
    text = "\n".join(f"{step.kind}\t{step.target}\t{step.source}" for step in steps)
    network = () if command.view.network == "open" else ("--net",)
    # Found with our own PATH, since the command's may be another.
    setpriv, unshare = (shutil.which(name) or name for name in _PROGRAMS)
    at = init.index(str(INIT))
    return (
        *(setpriv, "--pdeathsig", "KILL", "--", unshare, *_OPTIONS, *network, "--"),
        *(*init[:at], str(ENTER), text, *init[at + 1 :]),
    )


@functools.cache
def _problem() -> str:
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"{missing[0]} is not installed: apt-get install util-linux"
    return namespace.trial(functools.partial(wrap, ()))
