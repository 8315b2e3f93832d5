"""An interval for a mean of paired differences, from the signs that they could have had.

Where nothing changed, before and after could be exchanged, so a cluster's difference could as well
have had the other sign. All 2^G choices of sign make the distribution of the mean that chance
alone gives; this is the wild cluster bootstrap with weights of ±1 and the hypothesis imposed
(Cameron, Gelbach and Miller 2008), with every resample counted once instead of some drawn: there is
no seed. A percentile bootstrap is too narrow for few scenarios: with nothing changed, 3 trials and
a stated rate of 5 %, it raised an alarm in 8 % of pairs of runs with 8 scenarios, and in 6.5 % with
24. A t interval does as well from 8 scenarios on, but with fewer it can be sure because two or three
of them happen to agree. Trials of one scenario need not be independent: only its mean is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import fsum, isqrt, sqrt
from statistics import NormalDist

#: Cells of the grid on which sums of differences are counted: the more the fewer clusters there
#: are, as few sums lie far apart and cost little; and never fewer than these.
_ROOM, _CELLS = 200_000, 2_048
#: Clusters up to which all signs are counted; with more the distribution is normal to 0.002.
_COUNTED = 128
#: No mean of differences of scores lies beyond.
_BOUND = 1.0
_STEPS = 16


def lower_tail(values: Sequence[float]) -> float:
    """The chance of a sum at most that of ``values`` when each sign is as likely as the other.

    Ties count half (the mid-p value of Lancaster 1961): scores that are passed or failed make
    many, and counting them whole would keep the rate of false alarms well below the stated one.
    0.5 where all are 0.
    """
    size = fsum(map(abs, values))
    if not size:
        return 0.5
    if len(values) > _COUNTED:
        return NormalDist().cdf(fsum(values) / sqrt(fsum(v * v for v in values)))
    fine = max(_CELLS, _ROOM // len(values))
    cells = [round(abs(value) * fine / size) for value in values]
    taken = [count for count in cells if count]
    # A sum is the size less twice what got a minus: the distribution of that, as the coefficients
    # of the product of (1 + x^cells). They are digits of one integer, each wide enough for all.
    width = len(taken) + 1
    ways = 1
    for count in taken:
        ways += ways << (count * width)

    def at_least(minus: int) -> int:
        # Digits of a number in base B sum to the number modulo B - 1.
        return int((ways >> (max(0, minus) * width)) % ((1 << width) - 1))

    found = sum(count for count, value in zip(cells, values, strict=True) if value < 0)
    blur = isqrt(len(taken)) + 1  # what rounding to cells may have parted
    return (at_least(found - blur) + at_least(found + blur + 1)) / 2 / (1 << len(taken))


def upper_end(sums: Sequence[float], masses: Sequence[float], tail: float) -> float:
    """The largest mean that ``lower_tail`` does not refuse at ``tail``; at most 1.

    ``sums`` are the clusters' parts of the mean, ``masses`` their parts of the weight, which sum
    to 1: under a true mean m, a cluster's part is expected to be m times its mass.
    """
    mean = fsum(sums)

    def refused(true: float) -> bool:
        return lower_tail([s - true * m for s, m in zip(sums, masses, strict=True)]) <= tail

    return _end(refused, mean, _spread(sums, masses))


def lower_end(sums: Sequence[float], masses: Sequence[float], tail: float) -> float:
    """As ``upper_end``, on the other side; at least -1."""
    return -upper_end([-s for s in sums], masses, tail)


def standard_error(sums: Sequence[float], masses: Sequence[float]) -> float:
    """Of the mean, from its clusters (Miller 2024, appendix A), with G/(G − 1); 0 for one."""
    mean, groups = fsum(sums), len(sums)
    if groups < 2:
        return 0.0
    squares = fsum((s - mean * m) ** 2 for s, m in zip(sums, masses, strict=True))
    return sqrt(squares * groups / (groups - 1))


def _spread(sums: Sequence[float], masses: Sequence[float]) -> float:
    return max(standard_error(sums, masses), 1e-3)


def _end(refused: Callable[[float], bool], mean: float, step: float) -> float:
    inside = mean
    outside = mean + 2 * step
    while not refused(outside):
        inside, outside, step = outside, outside + 2 * step, 2 * step
        if inside >= _BOUND:
            return _BOUND
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        if refused(middle):
            outside = middle
        else:
            inside = middle
    return min(outside, _BOUND)
