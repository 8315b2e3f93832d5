"""What an evaluator says of one check, and how values are shown to people."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_agentbench.grading.evidence import Evidence

LIMIT = 200


@dataclass(frozen=True, slots=True)
class Verdict:
    """``score`` between 0 and 1; the texts may hold anything of an agent's, unescaped."""

    score: float
    detail: str = ""
    expected: str = ""
    found: str = ""


Evaluator = Callable[[Mapping[str, Any], "Evidence"], Verdict]


def text(value: object) -> str:
    """A value as checks compare and show it: strings as they are, the rest as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def excerpt(value: str, limit: int = LIMIT) -> str:
    """At most ``limit`` characters of ``value``; all that a terminal might act on is escaped."""
    shown = value[: limit + 1]
    if not shown.isprintable():
        shown = "".join(
            c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown
        )
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
