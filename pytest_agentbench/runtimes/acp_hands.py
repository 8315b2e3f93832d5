"""What a client of the Agent Client Protocol does for its agent: leave, files, commands.

Runs inside the sandbox: standard library alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from pytest_agentbench.runtimes.pipe import Listener
else:  # run as a script, where no package is to be had
    sys.path.append(str(Path(__file__).parent))
    from pipe import Listener

#: Bytes that are kept of what a command prints, unless the agent says how many.
OUTPUT_LIMIT = 1 << 20


class Refused(Exception):
    """There is no such method."""


class Terminal:
    """A command, and the end of what it prints."""

    def __init__(self, params: dict[str, Any], folder: Path) -> None:
        command, args = str(params["command"]), [str(arg) for arg in params.get("args") or ()]
        more = {str(v["name"]): str(v["value"]) for v in params.get("env") or ()}
        self._limit = int(params.get("outputByteLimit") or OUTPUT_LIMIT)
        self._output = b""
        self._cut = False
        self.process = subprocess.Popen(
            # Without arguments it is a line of shell, or a program: both start so.
            [command, *args] if args else [shutil.which("bash") or "/bin/sh", "-c", command],
            cwd=str(params.get("cwd") or folder),
            env={**os.environ, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert self.process.stdout is not None
        self._listener = Listener(self.process.stdout, self._keep)

    def _keep(self, piece: bytes) -> None:
        whole = self._output + piece
        self._cut |= len(whole) > self._limit
        self._output = whole[-self._limit :]

    def output(self) -> dict[str, Any]:
        ended = self.process.poll() is not None
        self._listener.settle()
        text = self._output.decode("utf-8", "replace")
        found: dict[str, Any] = {"output": text, "truncated": self._cut}
        return {**found, "exitStatus": self.status()} if ended else found

    def wait(self) -> dict[str, Any]:
        self.process.wait()
        return self.status()

    def status(self) -> dict[str, Any]:
        code = self.process.returncode
        if code is None or code >= 0:
            return {"exitCode": code, "signal": None}
        return {"exitCode": None, "signal": str(-code)}

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()


class Hands:
    """Does what an agent asks for. Works in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._terminals: dict[str, Terminal] = {}

    def do(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request. Raises ``Refused``, or whatever goes wrong."""
        match method:
            case "session/request_permission":
                return {"outcome": allowed(params)}
            case "fs/read_text_file":
                return {"content": self._read(params)}
            case "fs/write_text_file":
                path = self._folder / params["path"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(str(params["content"]).encode("utf-8", "replace"))
                return {}
            case "terminal/create":
                name = f"terminal-{len(self._terminals) + 1}"
                self._terminals[name] = Terminal(params, self._folder)
                return {"terminalId": name}
            case "terminal/output":
                return self._terminals[params["terminalId"]].output()
            case "terminal/wait_for_exit":
                return self._terminals[params["terminalId"]].wait()
            case "terminal/kill" | "terminal/release":
                self._terminals[params["terminalId"]].kill()
                return {}
        raise Refused(f"there is no method {method}")

    def close(self) -> None:
        for terminal in self._terminals.values():
            terminal.kill()

    def _read(self, params: dict[str, Any]) -> str:
        path: Path = self._folder / params["path"]
        text = path.read_bytes().decode("utf-8", "replace")
        first, most = params.get("line"), params.get("limit")
        if first is None and most is None:
            return text
        lines = text.splitlines(keepends=True)[max(0, (first or 1) - 1) :]
        return "".join(lines if most is None else lines[:most])


def allowed(params: dict[str, Any]) -> dict[str, Any]:
    """The choice that allows what is asked for, this once if that can be said."""
    options = [each for each in params.get("options") or () if isinstance(each, dict)]
    for kind in ("allow_once", "allow_always"):
        for option in options:
            if option.get("kind") == kind:
                return {"outcome": "selected", "optionId": option.get("optionId")}
    return {"outcome": "cancelled"}
