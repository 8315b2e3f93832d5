"""What may stand behind the gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_agentbench.gateway.chat import ChatRequest, Dialect

#: Headers of a request that change what a provider answers.
PASSED = ("anthropic-version", "anthropic-beta", "openai-beta")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request, as it came and as it is understood. ``query`` is without the question mark.

    ``data`` is the JSON of ``body``; ``headers`` are those that providers look at (``PASSED``).
    """

    dialect: Dialect
    path: str
    query: str
    body: bytes
    data: Mapping[str, Any]
    request: ChatRequest
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP answer, whose ``pieces`` are sent as they come.

    ``headers`` are further ones. Pieces may end in ``HangUp``.
    """

    status: int
    content_type: str
    pieces: AsyncIterator[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)


class Unsent(bytes):
    """A piece that is metered, and not sent: the client did not ask for it."""


class HangUp(Exception):
    """The connection is to be closed, with no answer or in the middle of one."""


class Backend(Protocol):
    """Answers the calls of one run, one or several at a time."""

    @property
    def name(self) -> str: ...

    @property
    def scripted(self) -> bool:
        """Whether this is no model at all, as reports must say."""

    async def answer(self, call: ModelCall) -> Answer:
        """Raises ``BackendError`` and ``HangUp``. Is cancelled when the run ends."""
