"""A client that speaks every dialect over a line, and says what came."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.execution import ModelEndpoint
from pytest_agentbench.scenario.model import Step
from pytest_agentbench.trial import Trial
from tests import made

STEPS = (Step(verb="say", text="All of it is done: ünïcode, and a long enough text to be cut."),)
PROMPT = "Do it."


@dataclass(frozen=True, slots=True)
class Wire:
    """How a dialect asks: path and body, and what stands at the end of a good stream."""

    path: str
    body: Mapping[str, Any]
    end: bytes
    streamed_path: str = ""

    def request(self, stream: bool, **more: Any) -> tuple[str, bytes]:
        asked = {"stream": True} if stream and not self.streamed_path else {}
        path = (self.streamed_path or self.path) if stream else self.path
        return path, json.dumps({**self.body, **asked, **more}).encode()


WIRES: Mapping[str, Wire] = {
    "chat": Wire(
        "/v1/chat/completions",
        {"model": "toy", "messages": [{"role": "user", "content": PROMPT}]},
        b"data: [DONE]\n\n",
    ),
    "responses": Wire("/v1/responses", {"model": "toy", "input": PROMPT}, b"response.completed"),
    "messages": Wire(
        "/v1/messages",
        {"model": "toy", "max_tokens": 9, "messages": [{"role": "user", "content": PROMPT}]},
        b"message_stop",
    ),
    "gemini": Wire(
        "/v1beta/models/toy:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": PROMPT}]}]},
        b'"STOP"',
        "/v1beta/models/toy:streamGenerateContent?alt=sse",
    ),
}


class Caller(http.client.HTTPConnection):
    """Sends raw requests to a line."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        super().__init__("gateway")
        self.endpoint = endpoint

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.endpoint.socket))

    def ask(self, path: str, body: bytes, **headers: str) -> http.client.HTTPResponse:
        self.request("POST", path, body, {"x-api-key": self.endpoint.token, **headers})
        return self.getresponse()


def trial(id: str = "demo", index: int = 1) -> Trial:  # noqa: A002
    return made.trial(index, id=id, prompt=PROMPT, solution=STEPS)
