"""A backend whose calls are kept on a cassette."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from pytest_agentbench.gateway.backend import Answer, Backend, HangUp, ModelCall
from pytest_agentbench.gateway.cassette import Cassette, Take
from pytest_agentbench.gateway.chat import BackendError
from pytest_agentbench.gateway.fingerprint import Fingerprints
from pytest_agentbench.gateway.folders import put_aside
from pytest_agentbench.gateway.speaker import EVENTS


class Recording:
    """Answers as ``backend`` does. ``token`` is that of the run."""

    def __init__(self, backend: Backend, cassette: Cassette, token: str) -> None:
        self.name, self.scripted = backend.name, backend.scripted
        self.facts = getattr(backend, "facts", {})
        self.cassette = cassette
        self._backend = backend
        self._prints = Fingerprints(token)

    async def answer(self, call: ModelCall) -> Answer:
        take = self.cassette.begin(self._prints.of(call))
        try:
            answer = await self._backend.answer(call)
        except (BackendError, HangUp) as error:
            _ended(take, error)
            raise
        take.status, take.content_type = answer.status, answer.content_type
        take.headers = answer.headers
        return replace(answer, pieces=self._kept(answer.pieces, take))

    async def _kept(self, pieces: AsyncIterator[bytes], take: Take) -> AsyncIterator[bytes]:
        kept: list[bytes] = []
        try:
            async for piece in pieces:
                kept.append(piece)
                yield piece
            take.end = "whole"
        except (BackendError, HangUp) as error:
            _ended(take, error)
            raise
        finally:
            stream = take.content_type == EVENTS
            take.pieces = put_aside(kept, self._prints.folders, stream=stream)


def _ended(take: Take, error: BackendError | HangUp) -> None:
    take.message = str(error)
    if isinstance(error, BackendError):
        take.end, take.status, take.code = "error", error.status, error.code
    else:
        take.end = "hung up"
