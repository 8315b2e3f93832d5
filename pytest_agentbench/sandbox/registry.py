"""The sandboxes by name, and which one ``auto`` is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from pytest_agentbench.sandbox.protocol import Sandbox


class Kind(Protocol):
    """The class of a built-in sandbox. ``hidden`` are folders that no command may see."""

    def __call__(self, *, hidden: tuple[Path, ...] = ()) -> Sandbox: ...

    def problem(self) -> str:
        """Why it does not work here and what to do about it; empty if it works."""


#: Module and class. Imported when asked for: a worker would pay for all, and uses one.
SANDBOXES: Mapping[str, tuple[str, str]] = {
    "bwrap": ("bwrap", "Bwrap"),
    "unshare": ("unshare", "Unshare"),
    "subreaper": ("subreaper", "Subreaper"),
    "docker": ("docker", "Docker"),
    "none": ("none", "Plain"),
}
#: What ``auto`` tries, strongest first.
STRONGEST = ("bwrap", "unshare", "subreaper")


class SandboxUnavailable(Exception):
    """A sandbox that does not exist or does not work here; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which sandbox is used, and why, for the header of a run. ``make`` gives a fresh one."""

    name: str
    reason: str
    make: Callable[[], Sandbox]


def choose(
    name: str,
    others: Mapping[str, Callable[[], Sandbox]] | None = None,
    hidden: tuple[Path, ...] = (),
    *,
    where: str = "--sandbox",
) -> Choice:
    """The sandbox of this name, out of ours and ``others`` of third parties.

    It is tried once here. Raises ``SandboxUnavailable``, which tells ``where`` the name stands.
    """
    if name == "auto":
        return _strongest(hidden)
    if others and name in others:
        _hold(name, others[name])
        return Choice(name, "asked for", others[name])
    if name not in SANDBOXES:
        known = ", ".join(("auto", *SANDBOXES, *(others or ())))
        raise SandboxUnavailable(f"{where}: unknown sandbox {name!r}; available: {known}")
    kind = _kind(name)
    if problem := kind.problem():
        raise SandboxUnavailable(
            f"{where}: {name} does not work here: {problem}; auto takes the strongest that works"
        )
    return Choice(name, "asked for", lambda: kind(hidden=hidden))


def _hold(name: str, make: Callable[[], Sandbox]) -> None:
    """Make one of a third party's. Raises ``SandboxUnavailable`` where it is no sandbox."""
    try:
        sandbox = make()
    except Exception as error:
        raise SandboxUnavailable(
            f"--sandbox={name} cannot be made: it raised {type(error).__name__}: {error}"
        ) from error
    missing = [each for each in ("name", "forwards", "run", "close") if not hasattr(sandbox, each)]
    if missing:
        raise SandboxUnavailable(
            f"--sandbox={name} is {sandbox!r:.80}, which has no {', '.join(missing)}; what a sandbox "
            "is, says pytest_agentbench.sandbox.protocol.Sandbox"
        )
    sandbox.close()


def _strongest(hidden: tuple[Path, ...]) -> Choice:
    problems: list[str] = []
    for name in STRONGEST:
        kind = _kind(name)
        if problem := kind.problem():
            named = problem.startswith(name)
            problems.append(problem if named else f"{name}: {problem}")
            continue
        reason = "; ".join(("auto", *problems)) if problems else "auto; strongest that works"
        return Choice(name, reason, lambda kind=kind: kind(hidden=hidden))  # type: ignore[misc]
    raise SandboxUnavailable(f"no sandbox works here: {'; '.join(problems)}")


def _kind(name: str) -> Kind:
    module, kind = SANDBOXES[name]
    made: Kind = getattr(import_module(f"{__package__}.{module}"), kind)
    return made
