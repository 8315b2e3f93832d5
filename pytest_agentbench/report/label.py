"""Labels of a row: how its numbers came about, in one word each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentbench.flag import Flag
from pytest_agentbench.record import Record
from pytest_agentbench.scoring.aggregate import OverallScore

if TYPE_CHECKING:
    from pytest_agentbench.report.tally import Tally


def labels(tally: Tally, overall: OverallScore | None) -> tuple[str, ...]:
    """The labels of the row that ``tally`` adds up to."""
    if tally.graded < tally.supported:
        found = ["incomplete"]
    else:
        found = ["clean_after_rerun" if tally.repeats else "clean"]
    if tally.tuned:
        found = [label for label in found if label == "incomplete"]
        found.insert(0, "tuned")
    if overall is not None and overall.subset:
        found.append("subset")
    if tally.flags.get(Flag.IMPORTED):
        found.append("imported")
    if tally.published:
        found.append("published scoring")
    if tally.other_limits:
        found.append("non-standard limits")
    if len(tally.exposures) > 1:
        found.append("mixed exposure")
    found.extend(filter(None, tally.exposures if len(tally.exposures) == 1 else ()))
    if clauses := tally.conformance:
        found.append(f"conformant {clauses['passed']}/{clauses['clauses']}")
    return tuple(found)


def first_time(record: Record) -> bool:
    """Whether the record has a score, and it is that of the trial's first attempt."""
    return record.graded and not record.attempts and Flag.RERUN not in record.flags
