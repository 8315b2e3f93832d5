"""What a sandbox is."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Protocol

from pytest_agentbench.execution import Command, Completed

#: Where a command with the network ``gateway`` finds it, in a sandbox that ``forwards``.
GATEWAY_PORT = 8080


class Sandbox(Protocol):
    """Runs one command at a time, and leaves nothing of it alive."""

    name: str
    #: Whether ``127.0.0.1:GATEWAY_PORT`` leads a command with the network ``gateway`` to it.
    forwards: bool

    def run(self, command: Command) -> Completed:
        """Run to the end or the time limit, kill the whole tree, return what came of it.

        ``Completed.enforced`` says what was enforced, never what was merely asked for. Raises
        ``TrialFault`` (``sandbox_error``, ``no_space``) when the command could not be started
        for a reason that is not the command's own.
        """

    def close(self) -> tuple[str, ...]:
        """Clean up; what survived, in words, for the record's ``closed`` line."""


def search_path() -> str:
    """The PATH of commands: the caller's, and last the folder of this Python.

    What the caller's PATH names may be hidden, as launchers in a home folder are; a ``python3``
    there is in any case.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    own = str(Path(sys.executable).parent)
    return os.pathsep.join(folders if own in folders else [*folders, own])
