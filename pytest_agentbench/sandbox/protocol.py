"""What a sandbox is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pytest_agentbench.execution import Command, Completed


class Sandbox(Protocol):
    """Runs one command at a time, and leaves nothing of it alive."""

    name: str

    def enforced(self) -> Mapping[str, Any]:
        """What this sandbox enforces, never what was merely asked for."""

    def run(self, command: Command) -> Completed:
        """Run to the end or the time limit, kill the whole tree, return what came of it.

        Raises ``TrialFault`` (``sandbox_error``, ``no_space``) when the command could not be
        started for a reason that is not the command's own.
        """

    def close(self) -> tuple[str, ...]:
        """Clean up; what survived, in words, for the record's ``closed`` line."""
