"""What a skill costs, against doing the same task without one (EvoClawBench §4.2 and §5.3).

Every figure is of one resource: tokens, dollars or seconds. None is *unknown*, which is never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite
from typing import Literal

#: ``infinite`` is a positive number over zero, in words since JSON has no infinity.
Ratio = float | Literal["infinite"] | None
#: Uses of a skill after which its workflow has cost no more than direct runs.
BreakEven = int | Literal["never"] | None
#: ``no extra`` where not one more token was spent.
PerMillion = float | Literal["no extra"] | None

#: Uses of a skill for which the share of its making is told.
REUSES = (1, 2, 5, 10)
#: Digits in which a quotient is taken for the whole number that it nearly is.
_WHOLE = 9


def ratio(upper: float | None, lower: float | None) -> Ratio:
    """``upper`` / ``lower`` of numbers that are not negative; 0 / 0 is 1: nothing changed.

    Equation 1 with the scores of a mode above that of the baseline, equation 2 with the effort of
    the baseline above that of a mode.
    """
    if upper is None or lower is None:
        return None
    if not lower:
        return "infinite" if upper else 1.0
    found = upper / lower
    return found if isfinite(found) else "infinite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a resource went into, of one trial in the mean.

    ``base`` is a direct run, ``reuse`` a run with the skill, ``setup`` all that came before it.
    ``direct`` is the number of direct runs within the setup: the first run of ``postskill`` does
    the task too, so whoever works without skills had to pay for one as well.
    """

    base: float
    reuse: float
    setup: float
    direct: float = 0.0


def break_even(spent: Spent) -> BreakEven:
    """The least number of uses from which on the workflow has cost no more than direct runs.

    That is the least n ≥ 1 with setup + n · reuse ≤ (n + direct) · base, and the same for each
    larger n: where a use costs more than a direct run, the sum is lost again, so it is never.
    """
    overhead = spent.setup - spent.direct * spent.base
    saved = spent.base - spent.reuse
    if saved < 0 or (not saved and overhead > 0):
        return "never"
    return max(1, ceil(round(overhead / saved, _WHOLE))) if saved else 1


def amortised(spent: Spent, uses: int) -> Ratio:
    """Cost of the workflow with that many ``uses``, over the cost of as many direct runs."""
    whole = spent.setup + uses * spent.reuse
    return ratio(whole, (uses + spent.direct) * spent.base)


def per_million(change: float | None, tokens: tuple[float, float] | None) -> PerMillion:
    """Points of 100 that the score changed by, for each million ``tokens`` (before, after) more.

    ``change`` is in points of a score in [0, 1]; the tokens are those of all scenarios together.
    """
    if change is None or tokens is None:
        return None
    extra = tokens[1] - tokens[0]
    return 100 * change / (extra / 1e6) if extra > 0 else "no extra"
