"""What a command costs in a container beside a bare spawn, from start to end. Prints a line."""

import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from pytest_agentbench.execution import Command, View
from pytest_agentbench.sandbox.docker import Docker

ROUNDS = 15
BUDGET = 1.0


def main() -> None:
    spawn: list[float] = []
    docker: list[float] = []
    sandbox = Docker()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        command = Command(argv=("true",), cwd=work, env={}, view=View(writable=(work,)))
        # Turn and turn about, so that both have the same neighbours.
        for _ in range(ROUNDS):
            began = time.monotonic()
            subprocess.run(("true",), check=True, cwd=work, env={})
            spawn.append(time.monotonic() - began)
            began = time.monotonic()
            sandbox.run(command)
            docker.append(time.monotonic() - began)
    sandbox.close()
    cost = statistics.median(docker) - statistics.median(spawn)
    print(
        f"overhead of docker per command: {cost:.2f} s (median of {ROUNDS}; {min(docker):.2f} to "
        f"{max(docker):.2f} s, a bare spawn {statistics.median(spawn) * 1e3:.1f} ms); "
        f"the budget of {BUDGET:g} s is {'kept' if cost <= BUDGET else 'EXCEEDED'}"
    )


if __name__ == "__main__":
    main()
