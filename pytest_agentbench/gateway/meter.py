"""What went through the gateway in one run."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

from pytest_agentbench.execution import Usage
from pytest_agentbench.status import Status

if TYPE_CHECKING:
    from pytest_agentbench.gateway.chat import ChatReply

#: The code by which OpenAI's interface says that a prompt is too long.
CONTEXT_CODE = "context_length_exceeded"
_TOO_LONG = re.compile(r"context (length|window)|maximum context|prompt is too long", re.IGNORECASE)


class Meter:
    """Counts requests and tokens, and remembers how the last request was answered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests = 0
        self._input = 0
        self._output = 0
        self._last: tuple[int, str, str] | None = None

    def answered(self, reply: ChatReply) -> None:
        with self._lock:
            self.requests += 1
            self._input += reply.input_tokens
            self._output += reply.output_tokens
            self._last = None

    def failed(self, status: int, message: str, code: str = "") -> None:
        with self._lock:
            self.requests += 1
            self._last = (status, message, code)

    @property
    def usage(self) -> Usage:
        with self._lock:
            return Usage(
                input_tokens=self._input, output_tokens=self._output, requests=self.requests
            )

    @property
    def fault(self) -> tuple[Status, str] | None:
        """What the last answer was, as a status and a text, if it was the provider's failure."""
        with self._lock:
            last = self._last
        if last is None:
            return None
        status = provider_status(*last)
        return (status, f"the model answered {last[0]}: {last[1]}") if status else None


def provider_status(http: int, message: str = "", code: str = "") -> Status | None:
    """The status of a run that ended in this answer; None for a request that was wrong."""
    if code == CONTEXT_CODE or (http in (400, 413) and _TOO_LONG.search(message)):
        return Status.CONTEXT_EXHAUSTED
    if http in (401, 403):
        return Status.AUTH_ERROR
    if http == 429 or http >= 500:
        return Status.PROVIDER_ERROR
    return None
