"""What a verdict on a criterion is worth."""

from __future__ import annotations

import pytest

from pytest_agentbench.grade import CriterionVerdict
from pytest_agentbench.scenario.rubric import PENALIZE, Criterion, Rung

PLAIN = Criterion(
    id="a", statement="The agent is brief.", kind="completion", category="output_discipline"
)
LADDER = (Rung(value=0.0, statement="not"), Rung(value=1.0, statement="fully"))


@pytest.mark.parametrize(
    ("polarity", "met", "credit"),
    [("", True, 1.0), ("", False, 0.0), (PENALIZE, True, 0.0), (PENALIZE, False, 1.0)],
)
def test_a_penalized_statement_earns_when_it_does_not_hold(
    polarity: str, met: bool, credit: float
) -> None:
    criterion = Criterion(**{**values(PLAIN), "polarity": polarity})
    verdict = CriterionVerdict.of(criterion, met)
    assert (verdict.met, verdict.credit, verdict.level) == (met, credit, credit)


def test_what_does_not_apply_has_no_credit() -> None:
    verdict = CriterionVerdict.of(Criterion(**{**values(PLAIN), "ladder": LADDER}), None, 0.5)
    assert (verdict.credit, verdict.level) == (None, 0.0)


@pytest.mark.parametrize(("ladder", "level"), [(LADDER, 0.5), ((), 1.0)])
def test_a_level_counts_only_on_a_ladder(ladder: tuple[Rung, ...], level: float) -> None:
    verdict = CriterionVerdict.of(Criterion(**{**values(PLAIN), "ladder": ladder}), True, 0.5)
    assert (verdict.credit, verdict.level) == (1.0, level)


def values(criterion: Criterion) -> dict[str, object]:
    return {name: getattr(criterion, name) for name in Criterion.__dataclass_fields__}
