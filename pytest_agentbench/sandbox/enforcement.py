"""What a sandbox enforced on a command, for records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: The names of limits, each of which is enforced by something or not at all.
LIMITS = (
    "memory_mb",
    "processes",
    "cpus",
    "cpu_seconds",
    "file_mb",
    "workspace_mb",
    "open_files",
)


def enforcement(
    sandbox: str,
    *,
    tree_kill: str,
    output_limit: int,
    files: str = "open",
    read_only: bool = False,
    network: str = "open",
    capabilities: str = "kept",
    dies_with_worker: bool = False,
    limits: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """The value of ``Completed.enforced``; docs/sandboxes.md says what each key means.

    ``limits`` has, for each limit that something enforces, ``limit`` and ``by`` (``cgroup``,
    ``rlimit``, ``watching``, …); the others are null.
    """
    return {
        "sandbox": sandbox,
        "files": files,
        "read_only": read_only,
        "network": network,
        "capabilities": capabilities,
        "tree_kill": tree_kill,
        "dies_with_worker": dies_with_worker,
        "output_limit": output_limit,
        **{name: (limits or {}).get(name) for name in LIMITS},
    }
