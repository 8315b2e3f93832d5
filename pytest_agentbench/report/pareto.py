"""The Pareto front: what no other beats on both effort and score."""

from __future__ import annotations

from collections.abc import Sequence


def front(points: Sequence[tuple[float, float]]) -> tuple[bool, ...]:
    """Which of the points (effort, score) are on the front: none has less effort and no lower
    score, or a higher score and no more effort."""
    return tuple(
        not any(
            (effort <= x and score > y) or (effort < x and score >= y) for effort, score in points
        )
        for x, y in points
    )
