"""Writes down what a model is asked and answers: a profile's option ``witness``."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pytest_agentbench.gateway.backend import Answer, Backend, ModelCall
from pytest_agentbench.trial import ModelProfile

#: Bytes of an answer that are written down.
KEPT = 1 << 20


class Witness:
    """A backend that answers as ``backend`` does, and writes each request to a file before.

    The file gets one JSON object a line: dialect, path, the model asked for, whether parallel calls
    are welcome, messages as they are understood, names of tools, and the body as it came. A line
    with ``answer`` follows when an answer is over.
    """

    def __init__(self, backend: Backend, path: Path) -> None:
        self.name, self.scripted = backend.name, backend.scripted
        self.facts = getattr(backend, "facts", {})
        self._backend = backend
        self._path = path

    async def answer(self, call: ModelCall) -> Answer:
        self._write(heard(call))
        answer = await self._backend.answer(call)
        return replace(answer, pieces=self._told(answer.pieces))

    async def _told(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        told = bytearray()
        try:
            async for piece in pieces:
                told += piece[: max(0, KEPT - len(told))]
                yield piece
        finally:
            self._write({"answer": told.decode("utf-8", "replace")})

    def _write(self, row: Mapping[str, Any]) -> None:
        with self._path.open("a", encoding="ascii") as file:
            file.write(json.dumps(row) + "\n")


def heard(call: ModelCall) -> Mapping[str, Any]:
    """What is written down of a call."""
    request = call.request
    return {
        "dialect": call.dialect.name,
        "path": call.path,
        "model": request.model,
        "parallel": request.parallel,
        "messages": [asdict(message) for message in request.messages],
        "tools": [tool.name for tool in request.tools],
        "body": call.body.decode("utf-8", "replace"),
    }


def split(profile: ModelProfile) -> tuple[ModelProfile, str]:
    """The profile without its witness, and the path of that. Raises ``ProfileError``."""
    options = dict(profile.options)
    path = options.pop("witness", "")
    if not isinstance(path, str) or (path and not Path(path).is_absolute()):
        raise profile.refuse(f"witness must be the absolute path of a file, not {path!r}")
    return replace(profile, options=options), path
