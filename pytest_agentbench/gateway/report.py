"""What the gateway saw of one run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from pytest_agentbench.execution import Usage
from pytest_agentbench.status import Status

#: The code by which OpenAI's interface says that a prompt is too long.
CONTEXT_CODE = "context_length_exceeded"
#: The code of the gateway itself, for a call that a recording has no answer to.
MISS_CODE = "cassette_miss"
#: The code of the gateway itself, when a budget is used up.
BUDGET_CODE = "budget_exhausted"
RUN_BUDGET_CODE = "run_budget_exhausted"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReport:
    """One model call.

    ``status`` is the HTTP status of the answer, 0 if the runtime left before there was one.
    ``started`` is in seconds since the run began; ``first`` and ``seconds`` are how long the first
    byte and the last took. ``cut`` says that an answer broke off, or is not one.
    """

    dialect: str
    started: float
    model: str = ""
    status: int = 0
    streamed: bool = False
    first: float | None = None
    seconds: float = 0.0
    cut: bool = False
    message: str = ""
    code: str = ""
    usage: Usage | None = None
    tools: tuple[str, ...] = ()
    answered_by: str = ""
    refused: bool = False

    def to_json(self) -> dict[str, Any]:
        data = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        data["usage"] = dataclasses.asdict(self.usage) if self.usage else None
        data["tools"] = list(self.tools)
        return {name: value for name, value in data.items() if value not in (None, "", [])}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        usage = data.get("usage")
        tools = tuple(data.get("tools", ()))
        return cls(**{**data, "usage": Usage(**usage) if usage else None, "tools": tools})


@dataclass(frozen=True, slots=True, kw_only=True)
class LineReport:
    """All calls of one run. ``calls`` keeps the first thousand of ``requests``.

    ``last`` is the latest call that has ended; ``waiting`` how many seconds the runtime has waited,
    or had when it was stopped, for the first byte of an answer that never came.
    ``first_request`` says what the runtime sends on its own account (docs/records.md), ``backend``
    what answers: its name, and what it is known to do. ``model`` is the one that is to be asked;
    ``strangers`` counts requests without the run's token, which are no calls.
    """

    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    calls: tuple[CallReport, ...] = ()
    last: CallReport | None = None
    waiting: float = 0.0
    first_request: Mapping[str, Any] = field(default_factory=dict)
    backend: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    strangers: int = 0
    #: Answers up to the last in which the model declined, one after the other.
    refusals: int = 0

    @property
    def fault(self) -> tuple[Status, str] | None:
        """What the last answer was, as a status and a text, if it was a failure of the model's."""
        last = self.last
        if last is None:
            return None
        if last.cut:
            return Status.PROVIDER_ERROR, f"the model's answer is of no use: {last.message}"
        if last.code == MISS_CODE:
            return Status.HARNESS_ERROR, last.message
        status = provider_status(last.status, last.message, last.code)
        if last.status == 404 and last.model == self.model:
            # Not there for this key, however it is spelt. A name of the runtime's own is its fault.
            status = Status.AUTH_ERROR
        if last.code in (BUDGET_CODE, RUN_BUDGET_CODE) and status:
            return status, last.message
        return (status, f"the model answered {last.status}: {last.message}") if status else None

    def differs(self, reported: Usage) -> bool:
        """Whether a runtime's own count is another: over all that both know of."""
        seen = self.usage
        pairs = [
            (reported.output_tokens, seen.output_tokens),
            (_read(reported), _read(seen)),
        ]
        return any(a != b for a, b in pairs if a is not None and b is not None)

    @property
    def observed(self) -> dict[str, Any]:
        """What of it belongs into a trial's record (docs/records.md)."""
        answered = sorted({call.answered_by for call in self.calls if call.answered_by})
        return {
            "requests": self.requests,
            "strangers": self.strangers,
            "backend": dict(self.backend),
            "answered_by": answered,
            "first_request": dict(self.first_request),
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "usage": dataclasses.asdict(self.usage),
            "calls": [call.to_json() for call in self.calls],
            "last": self.last.to_json() if self.last else None,
            "waiting": self.waiting,
            "backend": dict(self.backend),
            "first_request": dict(self.first_request),
            "model": self.model,
            "strangers": self.strangers,
            "refusals": self.refusals,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        last = data["last"]
        return cls(
            requests=data["requests"],
            usage=Usage(**data["usage"]),
            calls=tuple(map(CallReport.from_json, data["calls"])),
            last=CallReport.from_json(last) if last else None,
            waiting=data["waiting"],
            backend=data["backend"],
            first_request=data["first_request"],
            model=data["model"],
            strangers=data["strangers"],
            refusals=data["refusals"],
        )


def _read(usage: Usage) -> int | None:
    """Tokens that the model read, from a cache or not: what of them is cached is told in ways."""
    if usage.input_tokens is None:
        return None
    return usage.input_tokens + (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)


def provider_status(http: int, message: str = "", code: str = "") -> Status | None:
    """The status of a run that ended in this answer; None for a request that was wrong."""
    import re

    if code == MISS_CODE:
        return Status.HARNESS_ERROR
    if code == RUN_BUDGET_CODE:
        return Status.INTERRUPTED
    if code == BUDGET_CODE:
        return Status.BUDGET_EXHAUSTED
    too_long = (
        r"context (length|window)|maximum context|prompt is too long|"
        r"input token count.*exceeds the maximum"
    )
    if code == CONTEXT_CODE or (http in (400, 413) and re.search(too_long, message, re.IGNORECASE)):
        return Status.CONTEXT_EXHAUSTED
    if http in (401, 403):
        return Status.AUTH_ERROR
    if http == 429 or http >= 500:
        return Status.PROVIDER_ERROR
    return None
