"""The lines of a ledger by trial, as bytes: what ledgers are put together from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_agentbench.record import Record


@dataclass(slots=True)
class Attempt:
    """A ``graded`` line, and the lines of its trial that follow it."""

    line: bytes
    node_id: str = ""
    ended: float = 0.0
    #: Whether it has a score.
    scored: bool = False
    after: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class History:
    """All lines of one trial: those ``before`` its first ``graded`` line, and its attempts."""

    before: list[bytes] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def scored(self) -> frozenset[bytes]:
        """The lines that have a score."""
        return frozenset(attempt.line for attempt in self.attempts if attempt.scored)

    @property
    def counting(self) -> Attempt | None:
        """The attempt that a reader of the ledger takes: the last with a score, else the last."""
        scored = [attempt for attempt in self.attempts if attempt.scored]
        found = scored or self.attempts
        return found[-1] if found else None

    def lines(self) -> Iterator[bytes]:
        yield from self.before
        for attempt in self.attempts:
            yield attempt.line
            yield from attempt.after

    @classmethod
    def joined(cls, parts: Sequence[History]) -> History:
        """Every line once, in an order that does not depend on that of the ``parts``.

        That of a part that has all attempts; without one, by when they ended.
        """
        every: dict[bytes, Attempt] = {}
        for part in parts:
            for attempt in part.attempts:
                known = every.setdefault(attempt.line, replace(attempt, after=[]))
                known.after = sorted({*known.after, *attempt.after})
        orders = [
            [attempt.line for attempt in part.attempts]
            for part in parts
            if len(part.attempts) == len(every)
        ]
        by_time = sorted(every, key=lambda line: (every[line].ended, line))
        return cls(
            before=sorted({line for part in parts for line in part.before}),
            attempts=[every[line] for line in (min(orders) if orders else by_time)],
        )


def histories(path: Path) -> tuple[Mapping[str, History], frozenset[bytes]]:
    """The lines of the ledger ``path`` by key, and those of no trial. Torn lines are left out.

    Each line ends in a line end. Raises ``OSError``.
    """
    found: dict[str, History] = {}
    others: set[bytes] = set()
    if not path.exists():
        return found, frozenset()
    with path.open("rb") as file:
        for raw in file:
            try:
                data = json.loads(raw)
            except (ValueError, RecursionError):
                continue
            if not isinstance(data, dict):
                continue
            line, key = raw.strip() + b"\n", data.get("key")
            if not isinstance(key, str):
                others.add(line)
                continue
            history = found.setdefault(key, History())
            attempt = _attempt(line, data)
            if attempt is None:
                after = history.attempts[-1].after if history.attempts else history.before
                if line not in after:
                    after.append(line)
            elif all(attempt.line != known.line for known in history.attempts):
                history.attempts.append(attempt)
    return found, frozenset(others)


def _attempt(line: bytes, data: Mapping[str, object]) -> Attempt | None:
    if data.get("event") != "graded":
        return None
    try:
        record = Record.from_json(data)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None  # as for any reader, it is no record
    return Attempt(line=line, node_id=record.node_id, ended=record.ended, scored=record.graded)
