"""What a trial ran with beyond what was declared: adapter, host, and how the run was set up."""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_agentbench import __version__
from pytest_agentbench.runtimes.protocol import Runtime
from pytest_agentbench.settings import Settings


def circumstances(settings: Settings, runtime: Runtime | None, workers: int) -> dict[str, Any]:
    """Facts of a trial's surroundings, plain JSON; they stand in its record, never in its key."""
    return {
        "adapter": dict(_adapter(type(runtime))) if runtime is not None else {},
        "host": dict(_host()),
        "run": {
            "workers": workers,
            "max_attempts": settings.max_attempts,
            "timeout_multiplier": settings.timeout_multiplier,
            "timeout_floor": settings.timeout_floor,
            "sandbox_asked": settings.sandbox,
            "keep_workspace": settings.keep_workspace,
        },
        **({"exposure": settings.exposure} if settings.exposure else {}),
    }


@functools.cache
def _adapter(kind: type) -> Mapping[str, str]:
    """Version of the adapter, and the SHA-256 of the file that its class is in.

    The version is the class's own ``version``, else that of the plugin, whose built-in adapters
    have no other.
    """
    try:
        source = Path(inspect.getfile(kind)).read_bytes()
    except (OSError, TypeError):  # made at run time
        source = b""
    said = getattr(kind, "version", None)
    ours = kind.__module__.partition(".")[0] == __name__.partition(".")[0]
    return {
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "version": said if isinstance(said, str) else (__version__ if ours else ""),
        "sha256": hashlib.sha256(source).hexdigest() if source else "",
    }


@functools.cache
def _host() -> Mapping[str, Any]:
    """Nothing that names the machine or its user."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "cpus": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
    }
