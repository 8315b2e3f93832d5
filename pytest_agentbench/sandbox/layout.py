"""What of the machine a command sees: the same for all sandboxes that can hide the rest."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.execution import View
from pytest_agentbench.sandbox.namespace import PYTHON, SCRIPTS

_ETC = Path(__file__).resolve().with_name("etc")
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
#: Of the machine's own /etc, what programs do not work without.
_SHOWN = ("alternatives", "ssl", "ld.so.cache", "localtime")


@dataclass(frozen=True, slots=True)
class Step:
    """One step in putting together a new root folder, which is empty at first.

    ``kind`` is ``ro`` or ``rw`` (``source`` is seen at ``target``), ``link`` (``target`` is a
    link to ``source``), ``memory`` (an empty writable folder), ``hide`` (an empty folder),
    ``proc`` or ``dev``.
    """

    kind: str
    target: str
    source: str = ""


def layout(view: View, hidden: Iterable[Path] = ()) -> tuple[Step, ...]:
    """The system's programs, those of this Python, and what ``view`` says.

    Every path is seen where it is. Folders of ``hidden`` are covered where a part of the system
    would show them.
    """
    readable = [*interpreters(), *SCRIPTS, *view.readable]
    if view.gateway:
        readable.append(view.gateway)
    return (
        Step("proc", "/proc"),
        Step("dev", "/dev"),
        Step("memory", "/dev/shm"),
        Step("memory", "/tmp"),
        *_system(),
        *_etc(("resolv.conf",) if view.network == "open" else ()),
        *_own(view.writable, readable, hidden),
    )


def interpreters() -> Iterator[Path]:
    """What Python needs of its installation and of its virtual environment."""
    for root in dict.fromkeys((sys.base_prefix, sys.prefix)):
        for name in ("bin", "lib", "lib64", "include", "share", "pyvenv.cfg"):
            if (path := Path(root, name)).exists():
                yield path
    yield PYTHON


def _system() -> Iterator[Step]:
    yield Step("ro", "/usr", "/usr")
    for name in _SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            yield Step("link", str(path), str(path.readlink()))
        elif path.is_dir():
            yield Step("ro", str(path), str(path))


def _etc(more: Iterable[str]) -> Iterator[Step]:
    for own in sorted(_ETC.iterdir()):
        yield Step("ro", f"/etc/{own.name}", str(own))
    for name in (*_SHOWN, *more):
        path = Path("/etc", name)
        if path.exists():
            yield Step("ro", str(path), str(path.resolve()))


def _own(
    writable: Iterable[Path], readable: Iterable[Path], hidden: Iterable[Path]
) -> Iterator[Step]:
    """Outer folders first, so that inner ones stay visible; none that is visible already."""
    steps: dict[Path, Step] = {}
    for path in readable:
        real = path.resolve()
        steps[real] = Step("ro", str(real), str(real))
        if path != real:
            steps.setdefault(path, Step("link", str(path), str(real)))
    for path in (path.resolve() for path in hidden):
        steps[path] = Step("hide", str(path))
    for path in writable:
        steps[path] = Step("rw", str(path), str(path))
    shown = [("/usr/", True), *((f"/{name}/", True) for name in _SYSTEM)]
    for path in sorted(steps, key=lambda path: (len(path.parts), path)):
        step = steps[path]
        visible = _visible(step.target, shown)
        if visible if step.kind in ("ro", "link") else step.kind == "hide" and not visible:
            continue
        if step.kind != "link":
            shown.append((f"{step.target}/", step.kind != "hide"))
        yield step


def _visible(target: str, shown: list[tuple[str, bool]]) -> bool:
    """Whether the innermost of what is mounted around ``target`` shows it."""
    # Texts: with paths, this was more than half of the time that a layout takes.
    around = [(len(root), shows) for root, shows in shown if f"{target}/".startswith(root)]
    return max(around, default=(0, False))[1]
