"""No sandbox: for machines and moments where even ``local`` is in the way."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping
from typing import Any

from pytest_agentbench.execution import Command, Completed
from pytest_agentbench.sandbox.subreaper import OUTPUT_LIMIT
from pytest_agentbench.sandbox.process import run_process


class Plain:
    """Kills the process group alone: what calls setsid gets away."""

    name = "none"

    def enforced(self) -> Mapping[str, Any]:
        return {
            "sandbox": self.name,
            "strength": "none",
            "tree_kill": "process group",
            "dies_with_worker": False,
            "network": "open",
            "filesystem": "open",
            "output_limit": OUTPUT_LIMIT,
            "file_size": None,
        }

    def run(self, command: Command) -> Completed:
        return run_process(command, end=_kill_group)

    def close(self) -> tuple[str, ...]:
        return ()


def _kill_group(leader: int) -> int:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
    return 0
