"""bubblewrap: a view of the machine that holds what the command was given and nothing else."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from pytest_agentbench.execution import Command, Completed, View
from pytest_agentbench.sandbox.bounds import Bounds
from pytest_agentbench.sandbox.enforcement import enforcement
from pytest_agentbench.sandbox.namespace import FORWARDER, INIT, PYTHON, Namespace

INSTALL = "apt-get install bubblewrap"
_ETC = INIT.with_name("etc")
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ALWAYS = (
    *("--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1"),
    *("--cap-drop", "ALL", "--uid", "1000", "--gid", "1000"),
)
#: The second for systems that let a sandbox have users of its own, but not forbid further ones.
_USERS = (("--unshare-user", "--disable-userns"), ("--unshare-user",))
#: Of /tmp and /dev/shm, which are memory: TMPDIR is on the disk.
_MEMORY = str(256 << 20)


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
        users, _ = _trial()
        with Bounds(command.view, own_users=True) as bounds, Namespace() as space:
            view = prefix(command.view, users, self._hidden)
            argv = (*bounds.prefix, *view, "--", *space.init(command, bounds.rlimits))
            done = space.run(command, argv, self.name, bounds)
            exceeded = bounds.exceeded
        enforced = enforcement(
            self.name,
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

    def close(self) -> tuple[str, ...]:
        return ()


def prefix(view: View, users: tuple[str, ...], hidden: tuple[Path, ...] = ()) -> tuple[str, ...]:
    """bwrap and its options for ``view``. ``hidden`` is covered wherever it would show."""
    bwrap = shutil.which("bwrap") or "bwrap"
    network = ("--share-net",) if view.network == "open" else ()
    readable = [*interpreters(), INIT, FORWARDER, *view.readable]
    if view.gateway:
        readable.append(view.gateway)
    return (
        bwrap,
        *_ALWAYS,
        *users,
        *network,
        *_base(view),
        *_mounts(view.writable, readable, hidden),
        *("--remount-ro", "/dev", "--remount-ro", "/"),
    )


def interpreters() -> Iterator[Path]:
    """What Python needs of its installation and of its virtual environment."""
    for root in dict.fromkeys((sys.base_prefix, sys.prefix)):
        for name in ("bin", "lib", "lib64", "include", "share", "pyvenv.cfg"):
            if (path := Path(root, name)).exists():
                yield path
    yield PYTHON


def _base(view: View) -> Iterator[str]:
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from ("--size", _MEMORY, "--tmpfs", "/dev/shm", "--size", _MEMORY, "--tmpfs", "/tmp")
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    for path in sorted(_ETC.iterdir()):
        yield from ("--ro-bind", str(path), f"/etc/{path.name}")
    shown = ["alternatives", "ssl", "ld.so.cache", "localtime"]
    if view.network == "open":
        shown.append("resolv.conf")
    for name in shown:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


def _mounts(
    writable: Iterable[Path], readable: Iterable[Path], hidden: Iterable[Path]
) -> Iterator[str]:
    """The options that mount each path, outer ones first, so that inner ones stay visible."""
    mounts: dict[Path, tuple[str, ...]] = {}
    roots = [Path("/usr"), *(Path("/", name) for name in _SYSTEM)]
    for path in readable:
        real = path.resolve()
        mounts[real] = ("--ro-bind", str(real), str(real))
        if path != real:
            mounts.setdefault(path, ("--symlink", str(real), str(path)))
    for path in writable:
        mounts[path] = ("--bind", str(path), str(path))
    for path in hidden:
        mounts.setdefault(path.resolve(), ("--tmpfs", str(path.resolve())))
    shown: list[tuple[Path, bool]] = [(root, True) for root in roots]
    for path in sorted(mounts, key=lambda path: (len(path.parts), path)):
        option = mounts[path]
        visible = _visible(path, shown)
        if option[0] == "--tmpfs":
            if not visible:
                continue
            shown.append((path, False))
        elif option[0] != "--bind" and visible:
            continue
        elif option[0] != "--symlink":
            shown.append((path, True))
        yield from option


def _visible(path: Path, shown: list[tuple[Path, bool]]) -> bool:
    """Whether the innermost of what was mounted around ``path`` shows it."""
    around = [(len(root.parts), shows) for root, shows in shown if path.is_relative_to(root)]
    return max(around, default=(0, False))[1]


@functools.cache
def _trial() -> tuple[tuple[str, ...], str]:
    """The options for users that work here, or why none do."""
    if shutil.which("bwrap") is None:
        return (), f"bwrap is not installed: {INSTALL}"
    said = ""
    for users in _USERS:
        with Namespace() as space:
            command = Command(argv=("true",), cwd=Path("/"), env={})
            argv = (*prefix(command.view, users), "--", *space.init(command, {}))
            try:
                done = subprocess.run(
                    argv, check=False, capture_output=True, timeout=20, cwd="/", pass_fds=space.fds
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                said = said or str(error)
                continue
        if done.returncode == 0:
            return users, ""
        said = said or done.stderr.decode("utf-8", "replace").strip()
    return (), said.splitlines()[-1] if said else "it fails without a word"
