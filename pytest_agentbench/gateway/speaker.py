"""Lets a scripted policy speak every dialect."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable

from pytest_agentbench.gateway.backend import Answer, ModelCall
from pytest_agentbench.gateway.chat import Policy

JSON, EVENTS = "application/json", "text/event-stream"


class Speaker:
    """The backend that answers what ``policy`` replies."""

    name = "scripted"
    scripted = True

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    async def answer(self, call: ModelCall) -> Answer:
        reply = await self._policy.reply(call.request)
        if call.request.stream:
            pieces = call.dialect.stream(call.request, reply)
            return Answer(status=200, content_type=EVENTS, pieces=each(pieces))
        whole = call.dialect.reply(call.request, reply)
        return whole_answer(200, json.dumps(whole, ensure_ascii=False))


def whole_answer(status: int, text: str) -> Answer:
    body = text.encode("utf-8", "surrogatepass")
    return Answer(status=status, content_type=JSON, pieces=each((body,)))


async def each(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
