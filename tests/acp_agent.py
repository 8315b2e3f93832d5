"""A small agent that speaks the Agent Client Protocol, and does one thing that it is asked to."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any


class Agent:
    def __init__(self) -> None:
        self.number = 0
        self.begun: dict[str, Any] = {}
        self.lasting = False

    def say(self, **message: Any) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    def hear(self) -> dict[str, Any]:
        line = sys.stdin.readline()
        if not line:
            if self.lasting:
                signal.pause()
            sys.exit(0)
        heard: dict[str, Any] = json.loads(line)
        return heard

    def ask(self, method: str, **params: Any) -> Any:
        """The answer of the client, a result or an error."""
        self.number += 1
        self.say(id=self.number, method=method, params={"sessionId": "s1", **params})
        answer = self.hear()
        assert answer["id"] == self.number
        return answer.get("result", answer.get("error"))

    def tell(self, **update: Any) -> None:
        self.say(method="session/update", params={"sessionId": "s1", "update": update})

    def text(self, text: object) -> None:
        block = {"type": "text", "text": text if isinstance(text, str) else json.dumps(text)}
        self.tell(sessionUpdate="agent_message_chunk", content=block)

    def run(self, **command: Any) -> None:
        name = self.ask("terminal/create", **command)["terminalId"]
        self.text(self.ask("terminal/wait_for_exit", terminalId=name))
        self.text(self.ask("terminal/output", terminalId=name))
        self.ask("terminal/release", terminalId=name)

    def serve(self) -> None:
        while message := self.hear():
            match message["method"]:
                case "initialize":
                    self.begun = message["params"]
                    result: Any = {"protocolVersion": 1}
                case "session/new":
                    assert message["params"]["cwd"] == str(Path.cwd())
                    result = {"sessionId": "s1"}
                case "session/prompt":
                    result = self.turn(message["params"]["prompt"][0]["text"])
                case method:
                    self.text([method, message["params"]])
                    result = {}
            key = "error" if "code" in result else "result"
            self.say(id=message["id"], **{key: result})

    def turn(self, prompt: str) -> dict[str, Any]:
        match prompt:
            case "capabilities":
                self.text(self.begun["clientCapabilities"])
            case "leave":
                options = [
                    {"optionId": "no", "kind": "reject_once", "name": "No"},
                    {"optionId": "always", "kind": "allow_always", "name": "Always"},
                    {"optionId": "once", "kind": "allow_once", "name": "Once"},
                ]
                for offered in (options, options[:2], options[:1]):
                    call = {"toolCallId": "c1"}
                    answer = self.ask("session/request_permission", toolCall=call, options=offered)
                    self.text(answer["outcome"])
            case "files":
                path = str(Path.cwd() / "sub" / "ü.txt")
                self.text(self.ask("fs/read_text_file", path=path))
                self.text(self.ask("fs/write_text_file", path=path, content="1\n2\n3\n4"))
                self.text(self.ask("fs/read_text_file", path=path))
                self.text(self.ask("fs/read_text_file", path=path, line=2, limit=2))
            case "commands":
                self.run(command="python3", args=["-c", "print(7); exit(3)"])
                env = [{"name": "SIZE", "value": "1"}]
                self.run(command='printf "abcü"; exit $SIZE', env=env, outputByteLimit=3)
            case "kill":
                name = self.ask("terminal/create", command="sleep 600")["terminalId"]
                self.text(self.ask("terminal/output", terminalId=name))
                self.ask("terminal/kill", terminalId=name)
                self.text(self.ask("terminal/wait_for_exit", terminalId=name))
            case "unknown":
                self.text(self.ask("terminal/dance"))
                self.text(self.ask("terminal/output", terminalId="nope"))
            case "noise":
                sys.stdout.buffer.write(b"no message\n[1]\n\xff\n")
                self.text("after it")
            case "gone":
                sys.exit(3)
            case "stubborn":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
                self.text(str(child.pid))
                self.lasting = True
            case "error":
                return {"code": -32603, "message": "Internal error", "data": {"details": "no"}}
            case reason:
                return {"stopReason": reason}
        return {"stopReason": "end_turn"}


if __name__ == "__main__":
    Agent().serve()
