"""Other formulas for a trial's score, to see what the ranking owes to the one that is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pytest_agentbench.grade import Grade
from pytest_agentbench.scoring.composite import CORRECTNESS_WEIGHT

Formula = Callable[[Grade], float]


def composite(weight: float) -> Formula:
    """G (w C + (1 − w) P) (1 − E) with another weight w of correctness (ClawProBench, Table 42)."""
    return lambda grade: (
        grade.gate
        * (weight * grade.correctness + (1 - weight) * grade.process)
        * (1 - grade.penalty)
    )


#: Weights of correctness that the sweep goes through; the middle one is the policy's.
WEIGHTS = (0.50, CORRECTNESS_WEIGHT, 0.80)
#: Formulas by name, the full one first (ClawProBench, Table 41).
FORMULAS: Mapping[str, Formula] = MappingProxyType(
    {
        "full": composite(CORRECTNESS_WEIGHT),
        "C": lambda grade: grade.correctness,
        "C+P": lambda grade: (
            CORRECTNESS_WEIGHT * grade.correctness + (1 - CORRECTNESS_WEIGHT) * grade.process
        ),
        "gated": lambda grade: grade.capability,
        "strict": lambda grade: float(grade.strict),
    }
)
