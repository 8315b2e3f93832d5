"""The sandboxes by name, and which one ``auto`` is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_agentbench.sandbox.subreaper import Local
from pytest_agentbench.sandbox.none import Plain
from pytest_agentbench.sandbox.protocol import Sandbox

#: Name, strength in a word, and what makes one.
SANDBOXES: Mapping[str, tuple[str, Callable[[], Sandbox]]] = {
    "local": ("weak", Local),
    "none": ("nothing is isolated", Plain),
}


class SandboxUnavailable(Exception):
    """No sandbox of that name; the message lists those that there are."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which sandbox is used, and why, for the header of a run. ``make`` gives a fresh one."""

    name: str
    reason: str
    make: Callable[[], Sandbox]


def choose(name: str, others: Mapping[str, Callable[[], Sandbox]] | None = None) -> Choice:
    """The sandbox that ``--sandbox`` names, out of ours and ``others`` of third parties.

    Raises ``SandboxUnavailable``.
    """
    if name == "auto":
        strength, make = SANDBOXES["local"]
        return Choice("local", f"{strength}; bwrap, unshare and docker come with containment", make)
    if others and name in others:
        return Choice(name, "asked for", others[name])
    if name not in SANDBOXES:
        known = ", ".join(("auto", *SANDBOXES, *(others or ())))
        raise SandboxUnavailable(f"unknown sandbox {name!r}; available: {known}")
    strength, make = SANDBOXES[name]
    return Choice(name, f"{strength}; asked for", make)
