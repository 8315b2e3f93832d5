"""Resamples of clusters, and the sums of what each of them draws."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import fsum

SEED = 20261130
RESAMPLES = 2_000

#: A whole number of each cluster, none below 0.
Column = tuple[int, ...]
#: Bits in which the sum of one resample has place.
_WORD = 64
#: Counts that are kept: resamples times clusters.
_KEPT = 4_000_000


@dataclass(slots=True, kw_only=True)
class Draws:
    """The resamples as ``intervals.bootstrap`` draws them, for the intervals of many rows.

    How often each resample draws a cluster stands in one number, each count in a word of its own:
    one product and one sum a cluster then do for all resamples.
    """

    resamples: int = RESAMPLES
    seed: int = SEED
    _kept: dict[int, list[int]] = field(default_factory=dict)
    _factors: dict[object, list[list[float]]] = field(default_factory=dict)

    def sums(self, column: Column) -> list[int]:
        """Of each resample the sum over the clusters drawn, of at least two."""
        size = len(column)
        step = _WORD - size.bit_length()
        parts = [
            tuple(value >> shift & (1 << step) - 1 for value in column)
            for shift in range(0, max(column).bit_length(), step)
        ]
        totals: list[int] = []
        for number, counts in self._blocks(size):
            words = [_unpacked(_product(part, counts), number) for part in parts]
            totals += words[0] if len(words) == 1 else _joined(words, step, number)
        return totals

    def factors(self, masses: Sequence[Column], shares: tuple[float, ...]) -> list[list[float]]:
        """Of each resample what the sum of each column of values is multiplied by.

        The mean over the columns that were drawn at all, with their ``shares``, is then the sum
        of the products. Rows of one suite have the same ``masses``.
        """
        place = (tuple(masses), shares)
        if place not in self._factors:
            self._factors.clear()
            self._factors[place] = [
                _factors(totals, shares) for totals in zip(*map(self.sums, masses), strict=True)
            ]
        return self._factors[place]

    def _blocks(self, size: int) -> Iterator[tuple[int, list[int]]]:
        """Numbers of resamples, and of each cluster how often each of these draws it."""
        if size in self._kept:
            yield self.resamples, self._kept[size]
            return
        choices, clusters = random.Random(self.seed).choices, range(size)
        left, most = self.resamples, max(1, _KEPT // size)
        while left:
            number = min(left, most)
            counts = [[0] * number for _ in clusters]
            for resample in range(number):
                for cluster in choices(clusters, k=size):
                    counts[cluster][resample] += 1
            packed = [_packed(row) for row in counts]
            if number == self.resamples:
                self._kept.clear()
                self._kept[size] = packed
            yield number, packed
            left -= number


def _product(values: Sequence[int], counts: Sequence[int]) -> int:
    return sum(v * n for v, n in zip(values, counts, strict=True) if v)


def _joined(parts: Sequence[Sequence[int]], step: int, number: int) -> list[int]:
    """Sums of which ``parts`` have ``step`` bits each, the lowest first; 0 without any."""
    if not parts:
        return [0] * number
    return [
        sum(word << place * step for place, word in enumerate(words))
        for words in zip(*parts, strict=True)
    ]


def _packed(words: Sequence[int]) -> int:
    return int.from_bytes(struct.pack(f"<{len(words)}Q", *words), "little")


def _unpacked(packed: int, number: int) -> tuple[int, ...]:
    return struct.unpack(f"<{number}Q", packed.to_bytes(8 * number, "little"))


def _factors(masses: Sequence[int], shares: Sequence[float]) -> list[float]:
    """Empty where no column was drawn."""
    covered = fsum(share for share, mass in zip(shares, masses, strict=True) if mass)
    if not covered:
        return []
    return [
        share / covered / mass if mass else 0.0 for share, mass in zip(shares, masses, strict=True)
    ]
