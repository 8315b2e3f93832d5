"""What an adapter is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pytest_agentbench.execution import Command, Completed, Execution
from pytest_agentbench.trial import AgentRun, ProfileError, RuntimeProfile

#: Of the runtimes that are part of this package.
OWN_VERSION = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeInfo:
    """What ``probe`` found: goes into records, never into keys."""

    version: str = ""
    digest: str = ""
    capabilities: tuple[str, ...] = ()
    #: False for runtimes that call no model: an empty trace is then no fault.
    calls_model: bool = True
    #: False for runtimes that start no process: their runs have no HOME and no state.
    process: bool = True
    #: True for runtimes that reach their model through ``AgentRun.model``.
    endpoint: bool = False


class RuntimeUnavailable(Exception):
    """The runtime is not installed; the message says what to type to install it."""


class Runtime(Protocol):
    """Drives one agent product. Adapters describe; the runner spawns, limits, kills, classifies."""

    name: str

    def probe(self) -> RuntimeInfo:
        """Look for the runtime. Raises ``RuntimeUnavailable``."""

    def prepare(self, run: AgentRun) -> None:
        """Write the isolated state and configuration of this run alone."""

    def command(self, run: AgentRun) -> Command | None:
        """The process to start, or None when there is none to start.

        Its ``env`` is put on top of the runner's (PATH, HOME, TMPDIR, LANG); its ``timeout`` is
        the runner's to set.
        """

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        """Read what the runtime left. Its status stands unless the runner knows better."""


def own_version(profile: RuntimeProfile) -> str:
    """``OWN_VERSION``. Raises ``ProfileError`` for a profile that asks for another."""
    if profile.version not in ("", OWN_VERSION):
        raise ProfileError(
            f"--runtime={profile.name}: {profile.adapter} comes with pytest-agentbench and has no "
            f"version {profile.version!r}; allowed: {OWN_VERSION}"
        )
    return OWN_VERSION


def refuse_options(profile: RuntimeProfile) -> None:
    """For adapters without options. Raises ``ProfileError``."""
    for name in profile.options:
        raise profile.refuse(f"{profile.adapter} takes no options, but has {name!r}")
