"""What the gateway heard of a run: its requests, as the witness wrote them down."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: What a script calls its calls, which some dialects keep to themselves.
_ID = re.compile(r"\b(?:step|finish)[0-9a-f]{4,8}try\d\b")


@dataclass(frozen=True, slots=True)
class Heard:
    """Requests and answers of one run, as they came (see ``pytest_agentbench.gateway.witness``)."""

    rows: tuple[Mapping[str, Any], ...] = ()

    @property
    def requests(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(row for row in self.rows if "body" in row)

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

    @property
    def asked(self) -> int:
        """How many calls the model made; the last may have ended the run, and come in no request."""
        answers = "\n".join(row["answer"] for row in self.rows if "answer" in row)
        return max(len(self.calls), len(set(_ID.findall(answers))))

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
