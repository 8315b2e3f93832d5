"""Coefficients of agreement, by figures worked out by hand."""

from __future__ import annotations

import pytest

from pytest_agentbench.scoring.agreement import Agreement, agreement, nearness


def items(**said: str) -> list[dict[str, str]]:
    """One letter an item, for each rater."""
    return [dict(zip(said, labels, strict=True)) for labels in zip(*said.values(), strict=True)]


def test_two_raters() -> None:
    # Cohen: observed 4/5, by chance (3·2 + 2·3)/25 = 12/25, so 8/13. Pi: both say y 5 times of 10,
    # by chance 1/2, so 3/5. Alpha: 1 - (1/5) / (1 - (5·4 + 5·4)/90) = 0.64.
    found = agreement(items(a="yynny", b="ynnny"))
    assert (found.items, found.raters, found.same) == (5, 2, 0.8)
    assert found.cohen == pytest.approx(8 / 13)
    assert found.fleiss == pytest.approx(0.6)
    assert found.krippendorff == pytest.approx(0.64)


def test_three_raters() -> None:
    # Per item 1, 1/3, 1, 1/3: observed 2/3. y 7 of 12 times: by chance 74/144, so 11/35.
    found = agreement(items(a="yynn", b="yyny", c="ynny"))
    assert found.same == 0.5
    assert found.fleiss == pytest.approx((2 / 3 - 74 / 144) / (1 - 74 / 144))
    assert found.cohen is not None
    assert found.krippendorff is not None


def test_perfect_and_contrary() -> None:
    assert agreement(items(a="yn", b="yn")).cohen == 1.0
    assert agreement(items(a="yn", b="ny")).cohen == -1.0


@pytest.mark.parametrize(
    ("given", "same"),
    [(items(a="yyy", b="yyy"), 1.0), (items(a="y", b="n"), 0.0), (items(a="yn"), None), ([], None)],
)
def test_what_is_not_defined_is_none(given: list[dict[str, str]], same: float | None) -> None:
    found = agreement(given)
    assert (found.same, found.cohen, found.fleiss, found.krippendorff) == (same, None, None, None)


def test_items_that_not_everybody_has_are_left_out() -> None:
    found = agreement([*items(a="yn", b="yn"), {"a": "y"}])
    assert found == Agreement(items=2, raters=2, same=1, cohen=1, fleiss=1, krippendorff=1)


def test_scores_that_are_near() -> None:
    found = nearness([(0.9, 0.85), (0.5, 0.6), (0.2, 0.8)])
    assert found.mean_delta == pytest.approx(0.25)
    assert found.within == {0.05: pytest.approx(1 / 3), 0.10: pytest.approx(2 / 3)}
    assert found.pearson == pytest.approx(0.2690610)
    assert nearness([]).mean_delta is None
