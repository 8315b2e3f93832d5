"""Labels of a row: how its numbers came about, in one word each."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from pytest_agentbench.flag import Flag
from pytest_agentbench.record import Record
from pytest_agentbench.scoring.aggregate import OverallScore

if TYPE_CHECKING:
    from pytest_agentbench.report.tally import Tally


class Label(enum.StrEnum):
    """Listed, with what each means, in docs/statuses.md; an exposure that is declared is one too."""

    CLEAN = "clean"
    CLEAN_AFTER_RERUN = "clean_after_rerun"
    INCOMPLETE = "incomplete"
    TUNED = "tuned"
    SUBSET = "subset"
    IMPORTED = "imported"
    PUBLISHED = "published scoring"
    OTHER_LIMITS = "non-standard limits"
    MIXED_EXPOSURE = "mixed exposure"
    CONFORMANT = "conformant"  # and how many clauses hold, of how many


def labels(tally: Tally, overall: OverallScore | None) -> tuple[str, ...]:
    """The labels of the row that ``tally`` adds up to."""
    found: list[str] = []
    if tally.tuned:
        found.append(Label.TUNED)
    if tally.graded < tally.supported:
        found.append(Label.INCOMPLETE)
    elif not tally.tuned:
        found.append(Label.CLEAN_AFTER_RERUN if tally.repeats else Label.CLEAN)
    if overall is not None and overall.subset:
        found.append(Label.SUBSET)
    if tally.flags.get(Flag.IMPORTED):
        found.append(Label.IMPORTED)
    if tally.published:
        found.append(Label.PUBLISHED)
    if tally.other_limits:
        found.append(Label.OTHER_LIMITS)
    if len(tally.exposures) > 1:
        found.append(Label.MIXED_EXPOSURE)
    found.extend(filter(None, tally.exposures if len(tally.exposures) == 1 else ()))
    if clauses := tally.conformance:
        found.append(f"{Label.CONFORMANT} {clauses['passed']}/{clauses['clauses']}")
    return tuple(found)


def first_time(record: Record) -> bool:
    """Whether the record has a score, and it is that of the trial's first attempt."""
    return record.graded and not record.attempts and Flag.RERUN not in record.flags
