"""What model calls cost, and what may be spent on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from pytest_agentbench.execution import Usage

#: How a message about the whole run's budget begins.
RUN_SPENT = "the run's budget is used up"
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens, as they were on the day ``as_of`` (ISO 8601).

    None is unknown. Reasoning tokens are paid as output, of which they are a part.
    """

    as_of: str
    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """Dollars for ``usage``; None, which is not 0, where a count or a price is unknown."""
        parts = (
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_read_tokens or 0, self.cache_read),
            (usage.cache_write_tokens or 0, self.cache_write),
        )
        total = 0.0
        for tokens, price in parts:
            if tokens is None or (tokens and price is None):
                return None
            total += tokens * (price or 0.0)
        return total / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits on what is spent; None is none. ``usd`` needs a price of each model."""

    tokens: int | None = None
    requests: int | None = None
    usd: float | None = None

    def __bool__(self) -> bool:
        return any(value is not None for value in asdict(self).values())

    def __str__(self) -> str:
        said = {
            "tokens": f"{self.tokens:,} tokens" if self.tokens is not None else "",
            "requests": f"{self.requests:,} requests" if self.requests is not None else "",
            "usd": f"${self.usd:,.2f}" if self.usd is not None else "",
        }
        return ", ".join(filter(None, said.values()))

    def used_up(self, tokens: int, requests: int, usd: float) -> str:
        """Which limit is reached, in words; empty if none is."""
        for limit, spent, words in (
            (self.tokens, tokens, f"{tokens:,} of {self.tokens or 0:,} tokens"),
            (self.requests, requests, f"{requests:,} of {self.requests or 0:,} requests"),
            (self.usd, usd, f"${usd:,.4f} of ${self.usd or 0:,.4f}"),
        ):
            if limit is not None and spent >= limit:
                return words
        return ""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """What a trial may spend, and what all trials of a run may."""

    trial: Budget = Budget()
    run: Budget = Budget()


PRICE_KEYS = tuple(f.name for f in fields(Price))
BUDGET_KEYS = tuple(f.name for f in fields(Budget))
