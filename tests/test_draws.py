from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from pytest_agentbench.scoring import draws
from pytest_agentbench.scoring.draws import Draws


def drawn(column: Sequence[int], resamples: int) -> list[int]:
    """The sums, drawn one by one."""
    choices = random.Random(draws.SEED).choices
    return [sum(choices(column, k=len(column))) for _ in range(resamples)]


@pytest.mark.parametrize(
    "column",
    [
        pytest.param((1, 0), id="two clusters"),
        pytest.param((0, 0, 0), id="nothing"),
        pytest.param(tuple(n << 44 for n in range(90)), id="a score in parts of 1"),
        pytest.param(tuple(n % 10 * 252 for n in range(600)), id="half a word"),
        pytest.param(tuple(n * 10007 + n % 2 for n in range(600)), id="a word"),
        pytest.param((1 << 63, 1 << 64, 3), id="more than a word"),
        pytest.param((1 << 200, 7, (1 << 130) - 1), id="more than two words"),
    ],
)
def test_sums_are_those_of_the_clusters_drawn(column: tuple[int, ...]) -> None:
    assert Draws(resamples=300).sums(column) == drawn(column, 300)


def test_many_clusters_are_drawn_in_blocks() -> None:
    column = tuple(range(3000))
    found = Draws().sums(column)
    assert len(found) * len(column) > 4_000_000, "fits into one block"
    assert found == drawn(column, draws.RESAMPLES)


def test_several_columns_share_the_draws() -> None:
    shared = Draws(resamples=50)
    for size in (3, 5, 3):
        assert shared.sums((1,) * size) == [size] * 50
    ones, others = shared.sums((1, 0, 0)), shared.sums((0, 1, 1))
    assert [a + b for a, b in zip(ones, others, strict=True)] == [3] * 50
