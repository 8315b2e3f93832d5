"""The dialects by name."""

from __future__ import annotations

from pytest_agentbench.gateway.chat import Dialect
from pytest_agentbench.gateway.dialects.chat import ChatCompletions
from pytest_agentbench.gateway.dialects.gemini import Gemini
from pytest_agentbench.gateway.dialects.messages import Messages
from pytest_agentbench.gateway.dialects.responses import Responses

DIALECTS: tuple[Dialect, ...] = (ChatCompletions(), Responses(), Messages(), Gemini())


def dialect_of(path: str) -> Dialect | None:
    """The dialect in which a POST to ``path`` is a model call."""
    return next((dialect for dialect in DIALECTS if dialect.matches(path)), None)
