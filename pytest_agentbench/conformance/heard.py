"""What the gateway heard of a run: its requests, as the witness wrote them down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Heard:
    """The requests of one run in their order (see ``pytest_agentbench.gateway.witness``)."""

    requests: tuple[Mapping[str, Any], ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were asked for, each once."""
        return tuple(dict.fromkeys(request["model"] for request in self.requests))

    @property
    def turns(self) -> tuple[tuple[Mapping[str, Any], ...], ...]:
        """The calls of each turn, as ``id``, ``name`` and ``args``, out of the longest conversation."""
        found = [
            tuple(tuple(m["calls"]) for m in _of(request, "assistant") if m["calls"])
            for request in self.requests
        ]
        return max(found, key=lambda turns: sum(map(len, turns)), default=())

    @property
    def calls(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(call for turn in self.turns for call in turn)

    def first(self, role: str) -> tuple[str, ...]:
        """Texts of a role in the first request."""
        return tuple(m["text"] for request in self.requests[:1] for m in _of(request, role))

    @property
    def results(self) -> str:
        """All that tools said, each text once."""
        texts = dict.fromkeys(m["text"] for r in self.requests for m in _of(r, "tool"))
        return "\n".join(texts)

    @property
    def bodies(self) -> str:
        return "\n".join(request["body"] for request in self.requests)


def _of(request: Mapping[str, Any], role: str) -> list[Mapping[str, Any]]:
    return [message for message in request["messages"] if message["role"] == role]
