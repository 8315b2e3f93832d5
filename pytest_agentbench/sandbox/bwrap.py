"""bubblewrap: a view of the machine that holds what the command was given and nothing else."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

from pytest_agentbench.execution import Command, Completed
from pytest_agentbench.sandbox import namespace
from pytest_agentbench.sandbox.layout import Step, layout

INSTALL = "apt-get install bubblewrap"
#: Namespaces of its own, no capability, no terminal, and an end with whoever started it.
ISOLATED = (
    *("--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--as-pid-1"),
    *("--cap-drop", "ALL"),
)
_USER = ("--uid", "1000", "--gid", "1000")
#: To forbid further user namespaces inside is not everywhere permitted; without is good enough.
_NESTING = (("--disable-userns",), ())
#: In bytes. /tmp and /dev/shm are memory; TMPDIR is on the disk.
_SIZES = {"memory": str(256 << 20), "hide": "4096"}


class Bwrap:
    """Each command in namespaces of its own, seeing its ``View`` and the system's programs."""

    name = "bwrap"
    forwards = True

    def __init__(self, *, hidden: tuple[Path, ...] = ()) -> None:
        self._hidden = hidden

    @staticmethod
    def problem() -> str:
        return _trial()[1]

    def run(self, command: Command) -> Completed:
        nesting, _ = _trial()
        wrapped = functools.partial(wrap, nesting, self._hidden)
        return namespace.run_wrapped(command, self.name, wrapped)

    def close(self) -> tuple[str, ...]:
        return ()


def wrap(
    nesting: tuple[str, ...], hidden: tuple[Path, ...], command: Command, init: tuple[str, ...]
) -> tuple[str, ...]:
    """bwrap around ``init``, which ``Namespace.init`` gives."""
    view = command.view
    network = ("--share-net",) if view.network == "open" else ()
    mounts = (option for step in layout(view, hidden) for option in _option(step))
    read_only = ("--remount-ro", "/dev", "--remount-ro", "/")
    # Found with our own PATH, since the command's may be another.
    bwrap = shutil.which("bwrap") or "bwrap"
    return (bwrap, *ISOLATED, *nesting, *_USER, *network, *mounts, *read_only, "--", *init)


def _option(step: Step) -> tuple[str, ...]:
    match step.kind:
        case "ro":
            return ("--ro-bind", step.source, step.target)
        case "rw":
            return ("--bind", step.source, step.target)
        case "link":
            return ("--symlink", step.source, step.target)
        case "memory" | "hide":
            return ("--size", _SIZES[step.kind], "--tmpfs", step.target)
    return (f"--{step.kind}", step.target)


@functools.cache
def _trial() -> tuple[tuple[str, ...], str]:
    """The options on nesting that work here, or why none do."""
    if shutil.which("bwrap") is None:
        return (), f"bwrap is not installed: {INSTALL}"
    problems = []
    for nesting in _NESTING:
        problem = namespace.trial(functools.partial(wrap, nesting, ()))
        if not problem:
            return nesting, ""
        problems.append(problem)
    return (), problems[0]
