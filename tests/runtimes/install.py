"""Installs runtimes by the very commands that people are told, where they are missing.

Usage: python -m tests.runtimes.install NAME[@VERSION]...
"""

from __future__ import annotations

import subprocess
import sys
import time

from pytest_agentbench.runtimes.protocol import RuntimeUnavailable
from pytest_agentbench.runtimes.registry import ADAPTERS
from pytest_agentbench.trial import RuntimeProfile


def install(name: str) -> None:
    """Ask the adapter, do what it says, and ask again: another thing may be missing."""
    adapter, _, version = name.partition("@")
    runtime = ADAPTERS[adapter](RuntimeProfile(name=name, adapter=adapter, version=version))
    done: set[str] = set()
    while True:
        try:
            info = runtime.probe()
        except RuntimeUnavailable as error:
            command = str(error).rpartition("\n")[2].strip()
            if command in done:
                raise
            done.add(command)
            began = time.monotonic()
            print(f"$ {command}", flush=True)
            subprocess.run(["bash", "-c", f"set -e; {command} >&2"], check=True)
            print(f"  {time.monotonic() - began:.0f} s", flush=True)
        else:
            print(f"{adapter} {info.version}", flush=True)
            return


if __name__ == "__main__":
    for each in sys.argv[1:]:
        install(each)
