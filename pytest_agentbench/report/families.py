"""Families of failed checks, so that it shows what kind of thing an agent gets wrong.

The families and what is looked at are those of ClawProBench, Tables 44 and 45; which words decide
is ours, since the paper does not print its rules. A failed check is of the first family that fits.
"""

from __future__ import annotations

import enum
import functools
from collections import Counter
from dataclasses import dataclass, field

from pytest_agentbench.grade import CheckResult


class Family(enum.StrEnum):
    """In the order of Table 44."""

    STRUCTURE = "structured output or exact constraint"
    EVIDENCE = "missing or incomplete evidence"
    AUTHORITY = "approval, temporal or authority constraint"
    ROUTING = "tool or runtime routing"
    RECOVERY = "recovery or idempotency"
    SAFETY = "safety or disclosure boundary"
    CONFLICT = "conflict synthesis"
    OTHER = "other task-specific miss"


#: Tried in this order on the check's id and on why it failed.
_TEXTS = {
    Family.RECOVERY: "recover retry retri idempot rollback roll_back resum duplicat dedup restor",
    Family.AUTHORITY: "approv authori permission deadline window freeze frozen schedul escalat "
    "budget blocker blocked overdue temporal expir",
    Family.CONFLICT: "conflict contradict disagree reconcil superse amend merge overrid stale",
    Family.EVIDENCE: "eviden cite citation referenc source coverage covered unresolved question "
    "justif reason rationale",
}
_WORDS = tuple((family, tuple(words.split())) for family, words in _TEXTS.items())
_ROUTING_TYPES = ("tool_", "happens_before", "assistant_asks", "audit_state")
_STRUCTURE_TYPES = (
    *("file_", "json_", "table", "regex", "response_", "command", "inputs_unchanged"),
)
_ABSENT = ("does not exist", "missing", "no such file", "not json", "invalid")
#: Characters of a reason that are looked at.
_LOOK = 300


def family(check: CheckResult) -> Family:
    """The family of a failed check."""
    if check.category == "safety":
        return Family.SAFETY
    return _family(check.category, check.type, check.id, check.reason[:_LOOK])


@functools.lru_cache(maxsize=8192)  # a check mostly fails as it did before
def _family(category: str, kind: str, name: str, reason: str) -> Family:
    if kind == "tool_recovered_after_error":
        return Family.RECOVERY
    said = f"{name} {reason}".lower()
    for found, words in _WORDS:
        for word in words:  # a quarter of the time of a regular expression
            if word in said:
                return found
    if any(word in said for word in _ABSENT):
        return Family.STRUCTURE
    if category == "process" or kind.startswith(_ROUTING_TYPES):
        return Family.ROUTING
    return Family.STRUCTURE if kind.startswith(_STRUCTURE_TYPES) else Family.OTHER


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyRow:
    """Failed checks of one family: ``checks`` counts each failure in each trial.

    ``dimensions`` are those with most of them, at most three; ``scenario``, ``check`` and ``detail``
    are of the first, and ``detail`` may hold hostile text of an agent's.
    """

    name: str
    checks: int
    scenarios: int
    dimensions: tuple[str, ...]
    scenario: str
    check: str
    detail: str


@dataclass(slots=True)
class Families:
    """Failed checks by family, added up trial by trial."""

    #: By family, scenario and dimension.
    counts: Counter[tuple[Family, str, str]] = field(default_factory=Counter)
    first: dict[Family, tuple[str, CheckResult]] = field(default_factory=dict)

    def add(self, scenario: str, dimension: str, check: CheckResult) -> None:
        """Take in a failed check."""
        found = family(check)
        if found not in self.first:
            self.first[found] = (scenario, check)
        self.counts[found, scenario, dimension] += 1

    def rows(self) -> tuple[FamilyRow, ...]:
        """Those that occur, the largest first, and of equal ones in the order of ``Family``."""
        rows = [self._row(found) for found in Family if found in self.first]
        return tuple(sorted(rows, key=lambda row: -row.checks))

    def _row(self, found: Family) -> FamilyRow:
        scenario, check = self.first[found]
        dimensions, scenarios = Counter[str](), set[str]()
        for (each, where, dimension), times in self.counts.items():
            if each is found:
                dimensions[dimension] += times
                scenarios.add(where)
        most = sorted(filter(None, dimensions), key=lambda name: (-dimensions[name], name))
        return FamilyRow(
            name=found.value,
            checks=dimensions.total(),
            scenarios=len(scenarios),
            dimensions=tuple(most[:3]),
            scenario=scenario,
            check=check.id,
            detail=check.reason[:_LOOK],
        )
