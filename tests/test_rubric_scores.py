"""Eq. 3, category tables and gates, against figures worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Usage
from pytest_agentbench.grade import CriterionVerdict
from pytest_agentbench.scenario.rubric import PENALIZE, Criterion, Rubric, Rung
from pytest_agentbench.scoring.rubric import (
    categories,
    gated,
    grade_rubric,
    idle_verdicts,
    loose,
    strict,
)

TOPIC = {"completion": "durable_artifact", "process": "phase_adherence"}
LADDER = tuple(Rung(value=n / 3, statement=str(n)) for n in range(4))


def criterion(id: str = "a", kind: str = "completion", **values: Any) -> Criterion:  # noqa: A002
    fields = {"statement": "The agent does it.", "category": TOPIC[kind], **values}
    return Criterion(id=id, kind=kind, **fields)


def verdict(met: bool | None, level: float | None = None, **values: Any) -> CriterionVerdict:
    if level is not None:
        values["ladder"] = LADDER
    return CriterionVerdict.of(criterion(**values), met, level)


def bits(text: str) -> list[CriterionVerdict]:
    """One verdict a letter: 1 and 0 are the credit, - does not apply."""
    return [verdict({"1": True, "0": False, "-": None}[letter]) for letter in text]


@pytest.mark.parametrize(
    ("text", "mean", "product"),
    [
        ("1", 1.0, 1.0),
        ("0", 0.0, 0.0),
        ("1111", 1.0, 1.0),
        ("1110", 0.75, 0.0),
        ("1000000", 1 / 7, 0.0),
        ("0000", 0.0, 0.0),
        # What does not apply is in no denominator.
        ("11-", 1.0, 1.0),
        ("10--", 0.5, 0.0),
        ("-", None, None),
        ("", None, None),
    ],
)
def test_equation_3(text: str, mean: float | None, product: float | None) -> None:
    assert loose(bits(text)) == (mean if mean is None else pytest.approx(mean))
    assert strict(bits(text)) == product


def test_weights_and_levels_leave_equation_3_alone() -> None:
    verdicts = [
        verdict(True, 1 / 3, weight=9),
        verdict(False, 2 / 3, weight=1),
        verdict(False, polarity=PENALIZE),
        verdict(True, polarity=PENALIZE),
    ]
    assert (loose(verdicts), strict(verdicts)) == (0.5, 0.0)
    assert strict([verdicts[0], verdicts[2]]) == 1.0


def test_categories_are_weighted_and_strict_at_the_maximum_of_every_level() -> None:
    found = categories([
        verdict(True, 2 / 3, category="output_discipline", weight=3),
        verdict(True, category="output_discipline", weight=1),
        verdict(None, category="output_discipline", weight=50),
        verdict(True, category="durable_artifact"),
        verdict(True, 1.0, category="durable_artifact", weight=2),
        verdict(None, category="domain_operationalization"),
        verdict(False, kind="process", category="scope_discipline", polarity=PENALIZE),
        verdict(False, 1 / 3, kind="process", category="scope_discipline", weight=2),
    ])  # fmt: skip
    assert [(c.category, c.kind, pytest.approx(c.loose), c.strict, c.criteria) for c in found] == [
        ("durable_artifact", "completion", 1.0, 1.0, 2),
        # (3 * 2/3 + 1) / 4
        ("output_discipline", "completion", 0.75, 0.0, 2),
        # (1 * 1 + 2 * 1/3) / 3
        ("scope_discipline", "process", 5 / 9, 0.0, 2),
    ]


@pytest.mark.parametrize(
    ("gatekeeper", "must", "score"),
    [
        (True, True, 0.9),
        (True, False, 0.5),
        (False, True, 0.0),
        (False, False, 0.0),
        (True, None, 8 / 9),
    ],
)
def test_a_failed_gate_caps_a_score_of_its_own(
    gatekeeper: bool, must: bool | None, score: float
) -> None:
    gate = verdict(gatekeeper, gatekeeper=True)
    verdicts = [*bits("1111111"), gate, verdict(must, must=True), verdict(False)]
    assert gated(verdicts) == pytest.approx(score)
    applying = [v for v in verdicts if v.met is not None]
    assert loose(verdicts) == pytest.approx(sum(v.met or 0 for v in applying) / len(applying))


def test_a_must_of_the_process_caps_too_and_a_low_score_stays_as_it_is() -> None:
    asked = verdict(False, kind="process", must=True)
    assert gated([*bits("1111"), asked]) == 0.5
    assert gated([*bits("1000"), asked]) == 0.25
    assert gated([asked]) is None


def test_a_must_that_should_not_hold_fails_where_it_holds() -> None:
    assert gated([*bits("111"), verdict(True, must=True, polarity=PENALIZE)]) == 0.5
    assert gated([*bits("111"), verdict(False, must=True, polarity=PENALIZE)]) == 1.0


RUBRIC = Rubric(
    path=Path("x.rubric.yaml"),
    criteria=(
        criterion("a", gatekeeper=True),
        criterion("b"),
        criterion("c", "process", must=True),
        criterion("d", "process", polarity=PENALIZE),
    ),
)


def given(**met: bool | None) -> list[CriterionVerdict]:
    by_id = {each.id: each for each in RUBRIC.criteria}
    return [CriterionVerdict.of(by_id[name], value) for name, value in met.items()]


def test_both_kinds_are_scored_apart_in_the_order_of_the_rubric() -> None:
    usage = Usage(input_tokens=5)
    made = grade_rubric(RUBRIC, given(d=False, c=False, b=False, a=True), usage=usage)
    assert [v.id for v in made.verdicts] == ["a", "b", "c", "d"]
    assert (made.completion_loose, made.completion_strict) == (0.5, 0.0)
    assert (made.process_loose, made.process_strict) == (0.5, 0.0)
    assert (made.gated, made.gates_failed) == (0.5, ("c",))
    assert [c.category for c in made.categories] == ["durable_artifact", "phase_adherence"]
    assert made.usage is usage


def test_a_part_of_the_verdicts_is_never_the_whole() -> None:
    made = grade_rubric(RUBRIC, given(a=True, c=True, d=False), message="b has no verdict")
    assert (made.completion_loose, made.completion_strict, made.gated) == (None, None, None)
    assert (made.process_loose, made.process_strict) == (1.0, 1.0)
    assert [c.category for c in made.categories] == ["phase_adherence"]
    assert [v.id for v in made.verdicts] == ["a", "c", "d"]


def test_who_did_nothing_earns_nothing() -> None:
    made = grade_rubric(RUBRIC, idle_verdicts(RUBRIC))
    assert (made.completion_loose, made.completion_strict, made.gated) == (0.0, 0.0, 0.0)
    assert (made.process_loose, made.process_strict) == (0.0, 0.0)
