"""A small agent loop. Runs inside the sandbox: standard library alone.

Usage: minimal_agent.py CONFIG. CONFIG is JSON with ``prompt``, ``model``, ``socket``, ``token``,
``max_turns``, ``skills`` (a folder that may hold some), and the paths ``events`` and ``outcome``,
which it writes: canonical events, one a line, and how the loop ended.
"""

from __future__ import annotations

import http.client
import json
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from pytest_agentbench.runtimes.hands import TOOLS, perform
else:  # run as a script, where no package is to be had
    sys.path.append(str(Path(__file__).parent))
    from hands import TOOLS, perform

REPLY_LIMIT = 64 << 20
SYSTEM = (
    "You work in the current folder, with the tools that you are given. Do what the user asks, "
    "look at what you made, and answer in plain text once you are finished."
)


def _tool(name: str, description: str, required: tuple[str, ...], **properties: Any) -> Any:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": schema},
    }


_TEXT = {"type": "string"}
OFFER = [
    _tool("read", "Read a file.", ("path",), path=_TEXT),
    _tool(
        "write",
        "Write a file, and the folders above it.",
        ("path", "content"),
        path=_TEXT,
        content=_TEXT,
    ),
    _tool(
        "edit",
        "Replace a text that occurs once in a file.",
        ("path", "old", "new"),
        path=_TEXT,
        old=_TEXT,
        new=_TEXT,
    ),
    _tool(
        "exec",
        "Run a program: argv, or a line of bash in command. It has a minute.",
        (),
        argv={"type": "array", "items": _TEXT},
        command=_TEXT,
    ),
]


def announced(folder: Path) -> str:
    """What of each skill the model is told: its head, and where the rest of it is."""
    told = []
    for path in sorted(folder.glob("*/SKILL.md")):
        _, _, rest = path.read_text("utf-8", "replace").partition("---\n")
        head = " ".join(rest.partition("\n---")[0].split())
        told.append(f"- {path}: {head[:1000]}")
    return "\n\nSkills, to be read where they fit:\n" + "\n".join(told) if told else ""


class Stop(Exception):
    """The loop ends here, with this outcome."""

    def __init__(self, outcome: str, **details: Any) -> None:
        super().__init__(outcome)
        self.details = {"outcome": outcome, **details}


class Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self._path)


class Agent:
    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.began = time.monotonic()
        self.usage = {"requests": 0, "input_tokens": 0, "output_tokens": 0}
        self.messages: list[dict[str, Any]] = [
            {"role": "system", "content": SYSTEM + announced(Path(config["skills"]))},
            {"role": "user", "content": config["prompt"]},
        ]

    def run(self) -> dict[str, Any]:
        """Take turns until the model stops calling tools; how it ended, and the usage."""
        try:
            for _ in range(self.config["max_turns"]):
                self.turn()
            raise Stop("max_turns")
        except Stop as stop:
            return {**stop.details, **self.usage}

    def turn(self) -> None:
        message = self.ask()
        text = message.get("content")
        calls = message.get("tool_calls") or []
        if isinstance(text, str) and text:
            self.log(kind="assistant_message", text=text)
        if message.get("refusal"):
            self.log(kind="assistant_message", text=str(message["refusal"]))
            raise Stop("refusal", message=str(message["refusal"]))
        if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
            raise Stop("bad_reply", message="tool_calls is no list of objects")
        if not calls:
            raise Stop("completed")
        self.messages.append(message)
        for call in calls:
            self.act(call)

    def act(self, call: dict[str, Any]) -> None:
        """Run one tool call; whatever is wrong with it is told to the model."""
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        name, raw = str(function.get("name", "")), function.get("arguments")
        args: Any = raw
        if isinstance(raw, str):
            try:
                args = json.loads(raw or "{}")
            except (ValueError, RecursionError):
                args = None
        known = {"tool": name if name in TOOLS else "other", "native_name": name}
        known["call_id"] = str(call.get("id", ""))
        if isinstance(args, dict):
            self.log(kind="tool_call", args=args, **known)
            status, text = perform(name, args)
        else:
            self.log(kind="tool_call", native={"arguments": str(raw)}, **known)
            status, text = 400, "the arguments are not a JSON object"
        self.log(kind="tool_result", status=status, text=text, **known)
        self.messages.append({"role": "tool", "tool_call_id": call.get("id"), "content": text})

    def ask(self) -> dict[str, Any]:
        """The model's next message; raises ``Stop`` when there is none."""
        body = json.dumps(
            {"model": self.config["model"], "messages": self.messages, "tools": OFFER}
        )
        headers = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {self.config['token']}",
        }
        connection = Connection(self.config["socket"])
        try:
            connection.request("POST", "/v1/chat/completions", body.encode(), headers)
            response = connection.getresponse()
            data = response.read(REPLY_LIMIT)
        except (OSError, http.client.HTTPException) as error:
            raise Stop("unreachable", message=f"{type(error).__name__}: {error}") from None
        finally:
            connection.close()
        self.usage["requests"] += 1
        try:
            reply = json.loads(data)
        except (ValueError, RecursionError):
            reply = None
        if response.status != 200:
            raise Stop("http_error", http_status=response.status, **_error(reply))
        return self.choose(reply)

    def choose(self, reply: Any) -> dict[str, Any]:
        try:
            choice = reply["choices"][0]
            message = choice["message"]
            reason = choice.get("finish_reason")
            usage = reply.get("usage") or {}
            self.usage["input_tokens"] += int(usage.get("prompt_tokens") or 0)
            self.usage["output_tokens"] += int(usage.get("completion_tokens") or 0)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise Stop("bad_reply", message=f"{type(error).__name__}: {error}") from None
        if not isinstance(message, dict):
            raise Stop("bad_reply", message="the message is no object")
        if reason == "content_filter":
            raise Stop("refusal", message="the provider's content filter stopped the answer")
        return message

    def log(self, **event: Any) -> None:
        event["time"] = round(time.monotonic() - self.began, 4)
        with Path(self.config["events"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")


def _error(reply: Any) -> dict[str, str]:
    error = reply.get("error") if isinstance(reply, dict) else None
    error = error if isinstance(error, dict) else {"message": str(error or "")}
    return {"message": str(error.get("message") or ""), "code": str(error.get("code") or "")}


def main(argv: list[str]) -> int:
    config = json.loads(Path(argv[1]).read_text("utf-8"))
    outcome = Agent(config).run()
    Path(config["outcome"]).write_text(json.dumps(outcome), "utf-8")
    return 0 if outcome["outcome"] in ("completed", "max_turns") else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
