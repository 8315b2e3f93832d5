"""A client of the Agent Client Protocol. Runs inside the sandbox: standard library alone.

Usage: acp_client.py CONFIG. CONFIG is JSON with ``argv`` of the agent, ``workspace``, ``prompt``,
``auth`` and ``mode`` (each may be empty), ``offers`` (``fs``, ``terminal``) and ``log``, the path
that it writes: every message, one a line, with its time and who it is from. It takes one turn,
allows whatever the agent asks leave for, and ends with the turn: 0, or 1 if the agent refused to go
on or ended before.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from pytest_agentbench.runtimes.acp_hands import Hands, Refused
else:  # run as a script, where no package is to be had
    sys.path.append(str(Path(__file__).parent))
    from acp_hands import Hands, Refused

VERSION = 1
#: Seconds for the agent to end by itself once its input has ended.
GRACE = 0.5
_NO_METHOD, _NO_FILE, _FAILED = -32601, -32002, -32603


class Failure(Exception):
    """The agent answered with an error, or not at all."""


class Peer:
    """The agent's process, and what is said to it."""

    def __init__(self, argv: list[str], folder: str, log: Path) -> None:
        self._log = log.open("w", encoding="utf-8")
        self._start = time.time()
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            argv,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._answers: dict[int, dict[str, Any]] = {}
        self._changed = threading.Condition()
        self._ended = False
        self._next = 0

    def serve(self, hands: Callable[[str, dict[str, Any]], Any]) -> None:
        """Read messages until there are no more; ``hands`` does what the agent asks for."""
        assert self._process.stdout is not None
        stream = self._process.stdout
        rest = b""
        while piece := stream.read(1 << 16):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self._hear(line, hands)
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request. Raises ``Failure``."""
        self._next += 1
        number = self._next
        self._say({"id": number, "method": method, "params": params})
        with self._changed:
            self._changed.wait_for(lambda: number in self._answers or self._ended)
        answer = self._answers.get(number)
        if answer is None:
            raise Failure(f"{method}: the agent ended without an answer")
        if "error" in answer:
            raise Failure(f"{method}: {json.dumps(answer['error'], ensure_ascii=False)}")
        result = answer.get("result")
        return result if isinstance(result, dict) else {}

    def close(self) -> None:
        """End the agent, which is asked to first, and the processes of its session with it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        for number in (signal.SIGTERM, signal.SIGKILL):
            until = time.monotonic() + GRACE
            for pid in session(self._process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            while session(self._process.pid) and time.monotonic() < until:
                self._process.poll()  # else it would stay, as a zombie
                time.sleep(0.01)

    def _hear(self, line: bytes, hands: Callable[[str, dict[str, Any]], Any]) -> None:
        try:
            message = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return  # some agents print what is no message
        if not isinstance(message, dict):
            return
        self._write("agent", message)
        if "method" not in message:
            with self._changed:
                if type(message.get("id")) is int:
                    self._answers[message["id"]] = message
                self._changed.notify_all()
        elif "id" in message:
            # Waiting for a command must not keep the agent from asking for other things.
            threading.Thread(target=self._answer, args=(message, hands), daemon=True).start()

    def _answer(self, message: dict[str, Any], hands: Callable[[str, dict[str, Any]], Any]) -> None:
        params = message.get("params")
        reply: dict[str, Any]
        try:
            done = hands(str(message["method"]), params if isinstance(params, dict) else {})
            reply = {"result": done}
        except Refused as error:
            reply = {"error": {"code": _NO_METHOD, "message": str(error)}}
        except FileNotFoundError as error:
            problem = f"Resource not found: {error.filename} (ENOENT)"
            reply = {"error": {"code": _NO_FILE, "message": problem}}
        except Exception as error:  # noqa: BLE001 - the answer to this request, no more
            problem = f"{type(error).__name__}: {error}"
            reply = {"error": {"code": _FAILED, "message": problem}}
        self._say({"id": message["id"], **reply})

    def _say(self, message: dict[str, Any]) -> None:
        message = {"jsonrpc": "2.0", **message}
        self._write("client", message)
        assert self._process.stdin is not None
        # Whether it is gone is told by its standard output.
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def _write(self, who: str, message: dict[str, Any]) -> None:
        row = {"time": round(time.time() - self._start, 3), "from": who, "message": message}
        with self._lock:
            self._log.write(json.dumps(row) + "\n")
            self._log.flush()


def session(leader: int) -> list[int]:
    """The processes of the session that ``leader`` began, as far as they have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        # Gone since, which is no matter.
        with contextlib.suppress(OSError):
            # Behind the name, which may hold anything.
            state, _, _, group, *_ = path.read_bytes().rpartition(b")")[2].split()
            if int(group) == leader and state not in (b"Z", b"X"):
                found.append(int(path.parent.name))
    return found


def take_turn(peer: Peer, config: dict[str, Any]) -> None:
    """Raises ``Failure``."""
    offers = config["offers"]
    files = "fs" in offers
    peer.ask(
        "initialize",
        protocolVersion=VERSION,
        clientCapabilities={
            "fs": {"readTextFile": files, "writeTextFile": files},
            "terminal": "terminal" in offers,
        },
        clientInfo={"name": "agentbench", "title": "agentbench", "version": str(VERSION)},
    )
    if config["auth"]:
        peer.ask("authenticate", methodId=config["auth"])
    session = peer.ask("session/new", cwd=config["workspace"], mcpServers=[]).get("sessionId")
    if config["mode"]:
        peer.ask("session/set_mode", sessionId=session, modeId=config["mode"])
    prompt = [{"type": "text", "text": config["prompt"]}]
    peer.ask("session/prompt", sessionId=session, prompt=prompt)


def main(argv: list[str]) -> int:
    config = json.loads(Path(argv[1]).read_text("utf-8"))
    peer = Peer(config["argv"], config["workspace"], Path(config["log"]))
    hands = Hands(Path(config["workspace"]))
    threading.Thread(target=peer.serve, args=(hands.do,), daemon=True).start()
    try:
        take_turn(peer, config)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    finally:
        hands.close()
        peer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
