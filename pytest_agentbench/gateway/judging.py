"""A judge's line: its calls take turns with those of all other judges of the host, within a time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from pytest_agentbench.gateway.backend import Answer, Backend, ModelCall
from pytest_agentbench.gateway.chat import BackendError
from pytest_agentbench.gateway.purse import Purse
from pytest_agentbench.gateway.speaker import each


@dataclass(frozen=True, slots=True)
class Turns:
    """``seconds`` is what one call may take once it has its turn: waiting costs it nothing.

    ``purse`` is the run's, which may be empty by then.
    """

    places: asyncio.Semaphore
    seconds: float
    purse: Purse


class Judging:
    """The backend of a judge: ``backend``, in turns. Answers are had whole."""

    def __init__(self, backend: Backend, turns: Turns) -> None:
        self.name, self.scripted = backend.name, backend.scripted
        self.facts = getattr(backend, "facts", {})
        self._backend = backend
        self._turns = turns

    async def answer(self, call: ModelCall) -> Answer:
        async with self._turns.places:
            self._turns.purse.check()
            try:
                async with asyncio.timeout(self._turns.seconds):
                    answer = await self._backend.answer(call)
                    body = b"".join([piece async for piece in answer.pieces])
            except TimeoutError:
                raise BackendError(504, f"no answer within {self._turns.seconds:g} s") from None
        return replace(answer, pieces=each((body,)))
