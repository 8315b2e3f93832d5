"""Answers from a cassette, without any model."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from pytest_agentbench.gateway.backend import Answer, HangUp, ModelCall
from pytest_agentbench.gateway.cassette import Cassette, Take
from pytest_agentbench.gateway.chat import BackendError
from pytest_agentbench.gateway.fingerprint import Fingerprint, Fingerprints
from pytest_agentbench.gateway.folders import put_back
from pytest_agentbench.gateway.report import MISS_CODE

#: Characters shown of what differs, to either side.
_CONTEXT = 40


class Replay:
    """``asked`` counts the calls of the trial by key, over all of its attempts."""

    def __init__(self, cassette: Cassette, asked: Counter[str], token: str) -> None:
        backend = dict(cassette.facts["backend"])
        self.name: str = backend.pop("name")
        self.scripted: bool = cassette.facts["scripted"]
        self.facts: Mapping[str, Any] = {**backend, "replayed": True}
        self._cassette = cassette
        self._asked = asked
        self._prints = Fingerprints(token)

    async def answer(self, call: ModelCall) -> Answer:
        asked = self._prints.of(call)
        self._asked[asked.key] += 1
        occurrence = self._asked[asked.key]
        take = self._cassette.find(asked.key, occurrence)
        if take is None:
            raise BackendError(404, self._miss(asked, occurrence), MISS_CODE)
        if take.end == "error":
            raise BackendError(take.status, take.message, take.code)
        if take.end == "hung up" and not take.status:
            raise HangUp(take.message)
        if take.end == "left" and not take.status:
            await _for_ever()
        return Answer(
            status=take.status,
            content_type=take.content_type,
            pieces=self._pieces(take),
            headers=take.headers,
        )

    async def _pieces(self, take: Take) -> AsyncIterator[bytes]:
        folders = {name: folder for folder, name in self._prints.folders.items()}
        for piece in take.pieces:
            yield put_back(piece, folders)
        if take.end == "hung up":
            raise HangUp(take.message)
        if take.end == "left":
            await _for_ever()

    def _miss(self, asked: Fingerprint, occurrence: int) -> str:
        path = self._cassette.path
        where = f"{path.parent.name}/{path.name}"
        if occurrence > 1 and self._cassette.find(asked.key, 1):
            return (
                f"the recording {where} has {occurrence - 1} of this call, which comes once more; "
                "record the trial again with --record"
            )
        takes = self._cassette.takes
        if not takes:
            return f"the recording {where} has no call at all; record the trial again with --record"
        # The latest of those that are as near.
        nearest = max(takes, key=lambda take: (likeness(take.request, asked.request), take.number))
        return (
            f"the recording {where} has no such call; the nearest is call {nearest.number} of "
            f"{len(takes)}, which differs at {difference(nearest.request, asked.request)}; record "
            "the trial again with --record"
        )


async def _for_ever() -> None:
    await asyncio.get_running_loop().create_future()


def likeness(one: Any, other: Any) -> int:
    """How much of two requests is the same, and how much is not."""
    leaves, others = Counter(_leaves(one)), Counter(_leaves(other))
    return (leaves & others).total() - (leaves - others).total() - (others - leaves).total()


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, f"{place}.{key}")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _leaves(each, f"{place}[{number}]")
    else:
        yield place, repr(value)


def difference(recorded: Any, asked: Any, place: str = "") -> str:
    """The first place at which two requests differ, and what stands there; empty for none."""
    if isinstance(recorded, Mapping) and isinstance(asked, Mapping):
        for key in sorted({*recorded, *asked}):
            found = difference(recorded.get(key), asked.get(key), f"{place}.{key}".lstrip("."))
            if found:
                return found
        return ""
    if isinstance(recorded, list) and isinstance(asked, list):
        for number, (one, other) in enumerate(zip(recorded, asked, strict=False)):
            if found := difference(one, other, f"{place}[{number}]"):
                return found
        if len(recorded) == len(asked):
            return ""
        return f"{place}: recorded {len(recorded)} of them, now {len(asked)}"
    if recorded == asked:
        return ""
    start = 0
    if isinstance(recorded, str) and isinstance(asked, str):
        pairs = zip(recorded, asked, strict=False)
        start = next(
            (n for n, (a, b) in enumerate(pairs) if a != b), min(len(recorded), len(asked))
        )
    return f"{place}: recorded {_shown(recorded, start)}, now {_shown(asked, start)}"


def _shown(value: Any, start: int) -> str:
    if value is None:
        return "nothing"
    if not isinstance(value, str):
        text = repr(value)
        return text if len(text) <= 2 * _CONTEXT else f"{text[: 2 * _CONTEXT]}…"
    begin, end = max(0, start - _CONTEXT), start + _CONTEXT
    return repr("…" * (begin > 0) + value[begin:end] + "…" * (end < len(value)))
