"""A model call, asked for and answered, in one form for every dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pytest_agentbench.execution import Usage

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOffer:
    """A tool that the request offers.

    ``parameters`` are the properties of its JSON schema, by name; ``required`` names those that a
    call must have. ``freeform`` is a tool that takes a text in place of an object.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    freeform: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    id: str
    name: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation.

    ``calls`` are an assistant's. A tool's message is the result of ``call_id``; ``failed`` says
    whether the call did, None where the dialect has no word for it.
    """

    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    failed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """What backends look at. ``parallel`` says whether several calls in a turn are welcome."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolOffer, ...] = ()
    stream: bool = False
    parallel: bool = True

    def of(self, role: Role) -> tuple[Message, ...]:
        return tuple(message for message in self.messages if message.role == role)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """An answer. ``refusal`` is the text with which a model declines."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    usage: Usage = field(default_factory=Usage)


class BackendError(Exception):
    """The backend answers with an HTTP error."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code


class RequestError(ValueError):
    """A request that makes no sense in its dialect; the message says why."""


class Policy(Protocol):
    """What a scripted model does: sees requests of one run, one or several at a time.

    It keeps no state between requests: the same request gets the same reply.
    """

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Raises ``BackendError``. Is cancelled when the run ends."""


class Dialect(Protocol):
    """A provider's wire format: pure functions over parsed JSON."""

    name: str

    def matches(self, path: str) -> bool:
        """Whether a POST to ``path`` (no query) is a model call in this dialect."""

    def request(self, path: str, body: Mapping[str, Any]) -> ChatRequest:
        """Raises ``RequestError``."""

    def reply(self, request: ChatRequest, reply: ChatReply) -> dict[str, Any]:
        """The whole answer, for a request that is not streamed."""

    def stream(self, request: ChatRequest, reply: ChatReply) -> Sequence[bytes]:
        """The same answer as server-sent events, ready to send, in at least two pieces."""

    def error(self, status: int, message: str, code: str = "") -> dict[str, Any]:
        """The body of an error, such that the provider's clients understand its kind."""

    def stream_error(self, status: int, message: str, code: str = "") -> bytes:
        """The event with which a stream that has begun ends in an error."""

    def usage(self, data: Mapping[str, Any]) -> Usage | None:
        """What a whole answer, or one event of a streamed answer, says of usage so far.

        Of a streamed answer each event's word replaces, figure by figure, what earlier ones said:
        providers repeat totals, they do not add. ``input_tokens`` is without what was read from or
        written to a cache; ``output_tokens`` includes ``reasoning_tokens``.
        """

    def key_headers(self, key: str) -> dict[str, str]:
        """How a provider of this dialect wants its key."""
