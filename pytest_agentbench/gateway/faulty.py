"""A backend that fails when it is told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

from pytest_agentbench.gateway.backend import Answer, Backend, HangUp, ModelCall
from pytest_agentbench.gateway.chat import BackendError, ChatReply
from pytest_agentbench.gateway.fault import Fault
from pytest_agentbench.gateway.report import CONTEXT_CODE
from pytest_agentbench.gateway.speaker import EVENTS, JSON, each

_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
#: Bytes of a ``huge`` answer.
HUGE = 32 << 20
#: In how many parts a ``slow`` answer comes.
_PARTS = 10


class Faulty:
    """A backend that answers as ``backend`` does, but for the calls that the fault befalls."""

    def __init__(self, backend: Backend, fault: Fault) -> None:
        self.name, self.scripted = backend.name, backend.scripted
        self.facts = {**getattr(backend, "facts", {}), "fault": fault.to_json()}
        self._backend = backend
        self._fault = fault
        self._calls = 0

    async def answer(self, call: ModelCall) -> Answer:
        self._calls += 1
        if not self._fault.befalls(self._calls):
            return await self._backend.answer(call)
        match self._fault.kind:
            case "refused":
                raise HangUp("it closed the connection with no answer, an injected fault")
            case "hang":
                await asyncio.get_running_loop().create_future()
                raise AssertionError("nobody ends this future")
            case "empty":
                return Answer(status=200, content_type=_content_type(call), pieces=each(()))
            case "huge":
                return _huge(call)
            case "overflow":
                return _overflow(call)
            case "cut" | "malformed" | "slow" as kind:
                return await self._spoilt(call, kind)
            case status:
                message = f"an injected fault, status {status}"
                raise BackendError(int(status), message, _CODES.get(int(status), ""))

    async def _spoilt(self, call: ModelCall, kind: str) -> Answer:
        answer = await self._backend.answer(call)
        if answer.status != 200:
            return answer
        body = b"".join([piece async for piece in answer.pieces])
        if kind == "cut":
            pieces = _cut(body)
        elif kind == "malformed":
            pieces = each((_malformed(body, answer.content_type),))
        else:
            pieces = _slow(body, self._fault.seconds)
        return replace(answer, pieces=pieces)


def _content_type(call: ModelCall) -> str:
    return EVENTS if call.request.stream else JSON


async def _cut(body: bytes) -> AsyncIterator[bytes]:
    half = len(body) // 2
    # Not at the end of an event, where a stream might look as if it had only ended early.
    yield body[: half + 3 if body[:half].endswith(b"\n") else half]
    raise HangUp("it broke off in the middle, an injected fault")


def _malformed(body: bytes, content_type: str) -> bytes:
    if content_type != EVENTS:
        return body[: len(body) // 2]
    first, *rest = body.removesuffix(b"\n\n").split(b"\n\n")
    broken = [event[: event.find(b"data:") + 5] + b' {"broken": ' for event in rest]
    return b"\n\n".join([first, *broken, b""])


async def _slow(body: bytes, seconds: float) -> AsyncIterator[bytes]:
    size = len(body) // _PARTS + 1
    for start in range(0, size * _PARTS, size):
        await asyncio.sleep(seconds / _PARTS)
        yield body[start : start + size]


def _huge(call: ModelCall) -> Answer:
    """An answer with a text so long that all of it has about ``HUGE`` bytes."""
    sample = 1 << 16
    # A dialect may say a text several times.
    times = sum(map(len, _said(call, sample))) / sample
    pieces = _said(call, int(HUGE / times))
    return Answer(status=200, content_type=_content_type(call), pieces=each(pieces))


def _said(call: ModelCall, size: int) -> list[bytes]:
    reply = ChatReply(text="and so on " * (size // 10))
    if call.request.stream:
        return list(call.dialect.stream(call.request, reply))
    return [json.dumps(call.dialect.reply(call.request, reply)).encode()]


def _overflow(call: ModelCall) -> Answer:
    """The prompt is too long, said as the provider of the dialect says it."""
    message = "your messages have more tokens than that, an injected fault"
    if call.dialect.name == "responses" and call.request.stream:
        event = call.dialect.stream_error(400, message, CONTEXT_CODE)
        return Answer(status=200, content_type=EVENTS, pieces=each((event,)))
    raise BackendError(400, message, CONTEXT_CODE)
