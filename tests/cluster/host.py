"""A host in a network namespace of its own, at the end of a cable."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


def call(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{argv}: {done.stderr}"


@dataclass(frozen=True, slots=True)
class Host:
    """``device`` is our end of its cable."""

    name: str
    namespace: str
    device: str
    address: str
    config: Path

    def cut_off(self) -> None:
        call("ip", "link", "set", self.device, "down")

    def join(self) -> None:
        call("ip", "link", "set", self.device, "up")

    def start(self, command: str) -> subprocess.Popen[str]:
        """The command of a shell, over ssh."""
        return subprocess.Popen(
            ["ssh", "-F", str(self.config), self.name, command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, command: str) -> int:
        process = self.start(command)
        process.communicate()
        return process.returncode

    def processes(self) -> list[str]:
        """The numbers of all that run on it."""
        done = subprocess.run(
            ["ip", "netns", "pids", self.namespace], capture_output=True, text=True, check=False
        )
        return done.stdout.split()
