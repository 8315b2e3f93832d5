"""What judges said of a brief together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.grade import CriterionVerdict
from pytest_agentbench.spending import RUN_SPENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What came of a brief: verdicts on the criteria that are a judge's, or a total.

    ``problems`` has for each judge why it gave no verdict, by criterion: none is complete without
    all of them. ``lacking`` says why nobody was asked. ``judges`` says of each what it is and what it
    cost, as plain JSON.
    """

    verdicts: tuple[CriterionVerdict, ...] = ()
    total: float | None = None
    problems: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    lacking: str = ""
    judges: tuple[Mapping[str, Any], ...] = ()
    usage: Usage = field(default_factory=Usage)

    @property
    def stopped(self) -> str:
        """Why nobody may be asked any more in this run; empty if one may."""
        said = (reason for reasons in self.problems.values() for reason in reasons.values())
        return next((reason for reason in said if reason.startswith(RUN_SPENT)), "")

    @property
    def message(self) -> str:
        """Why there is no verdict, for people; empty if there is."""
        said = [self.lacking] if self.lacking else []
        for judge, reasons in self.problems.items():
            about: dict[str, list[str]] = {}
            for name, reason in reasons.items():
                about.setdefault(reason, []).append(name)
            for reason, names in about.items():
                on = f" on {', '.join(names)}" if any(names) else ""
                said.append(f"judge {judge} gave no verdict{on}: {reason}")
        return "; ".join(said)
