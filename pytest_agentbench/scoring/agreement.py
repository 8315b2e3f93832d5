"""How far judges, or people who label, agree: coefficients and deltas. Pure functions.

The coefficients are NLTK's: Cohen's kappa (1960; the mean over pairs for more than two), Fleiss' kappa
(1971, Scott's pi for several) and Krippendorff's alpha with nominal distance (1980).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_agentbench.scoring.correlation import pearson

INSTALL = "agreement needs pip install 'pytest-agentbench[judge]'"
#: Deltas within which two scores are told to be near.
NEAR = (0.05, 0.10)


class NotInstalled(Exception):
    """The library is not there; the message says what to type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Of ``raters`` over ``items``. ``same`` is the share of items on which all say the same.

    A coefficient is None where it is not defined: fewer than two raters or items, or one label
    throughout, which chance explains as well as agreement does.
    """

    items: int
    raters: int
    same: float | None = None
    cohen: float | None = None
    fleiss: float | None = None
    krippendorff: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearness:
    """Of two series of scores. ``within`` has the share of deltas up to each of ``NEAR``."""

    pairs: int
    pearson: float | None = None
    mean_delta: float | None = None
    within: Mapping[float, float] | None = None


def agreement(items: Sequence[Mapping[str, str]]) -> Agreement:
    """Over items that each rater has labelled, by its name. Raises ``NotInstalled``.

    Items that not every rater has are left out.
    """
    raters = sorted({name for item in items for name in item})
    whole = [item for item in items if len(item) == len(raters)]
    labels = {label for item in whole for label in item.values()}
    if len(raters) < 2 or not whole:
        return Agreement(items=len(whole), raters=len(raters))
    same = sum(len(set(item.values())) == 1 for item in whole) / len(whole)
    if len(whole) < 2 or len(labels) < 2:
        return Agreement(items=len(whole), raters=len(raters), same=same)
    try:
        from nltk.metrics.agreement import AnnotationTask
    except ImportError:
        raise NotInstalled(INSTALL) from None
    task = AnnotationTask(
        data=[(name, str(n), item[name]) for n, item in enumerate(whole) for name in raters]
    )
    return Agreement(
        items=len(whole),
        raters=len(raters),
        same=same,
        cohen=_defined(task.kappa),
        fleiss=_defined(task.pi),
        krippendorff=_defined(task.alpha),
    )


def _defined(coefficient: object) -> float | None:
    assert callable(coefficient)
    try:
        return float(coefficient())
    except ZeroDivisionError:  # a pair of raters with one label between them
        return None


def nearness(pairs: Sequence[tuple[float, float]]) -> Nearness:
    """How near two series of scores are, pair by pair."""
    if not pairs:
        return Nearness(pairs=0)
    deltas = [abs(a - b) for a, b in pairs]
    # A score has rounding of its own: 0.85 and 0.9 are 0.05 apart.
    within = {most: sum(d <= most + 1e-9 for d in deltas) / len(deltas) for most in NEAR}
    return Nearness(
        pairs=len(pairs),
        pearson=pearson(pairs),
        mean_delta=sum(deltas) / len(deltas),
        within=within,
    )
