"""Resamples of clusters, and the sums of what each of them draws."""

from __future__ import annotations

import random
import struct
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import fsum, nan

SEED = 20261130
RESAMPLES = 2_000

#: A whole number of each cluster, none below 0.
Column = tuple[int, ...]
#: Bits in which the sum of one resample has place, and what ``struct`` calls them: the less there
#: are, the quicker it goes.
_WORDS = {16: "H", 32: "I", 64: "Q"}
_LONGEST = 64
#: Counts that are kept: resamples times clusters.
_KEPT = 4_000_000


@dataclass(slots=True)
class _Block:
    """Of ``number`` resamples, how often each of them draws each cluster: a row a cluster."""

    number: int
    rows: list[array[int]]
    _packed: dict[int, list[int]] = field(default_factory=dict)

    def packed(self, word: int) -> list[int]:
        """Each row in one number, each count in ``word`` bits of its own."""
        if word not in self._packed:
            kind = f"<{self.number}{_WORDS[word]}"
            self._packed[word] = [
                int.from_bytes(struct.pack(kind, *row), "little") for row in self.rows
            ]
        return self._packed[word]


@dataclass(slots=True, kw_only=True)
class Draws:
    """The resamples as ``intervals.bootstrap`` draws them, for the intervals of many rows.

    How often each resample draws a cluster stands in one number, each count in a word of its own:
    one product and one sum a cluster then do for all resamples.
    """

    resamples: int = RESAMPLES
    seed: int = SEED
    _kept: dict[int, _Block] = field(default_factory=dict)
    _factors: dict[object, list[tuple[float, ...]]] = field(default_factory=dict)

    def sums(self, column: Column) -> list[int]:
        """Of each resample the sum over the clusters drawn, of at least two."""
        carry, bits = len(column).bit_length(), max(column).bit_length()
        word = next((word for word in _WORDS if bits + carry <= word), _LONGEST)
        step = word - carry
        parts = [
            [value >> shift & (1 << step) - 1 for value in column] for shift in range(0, bits, step)
        ]
        totals: list[int] = []
        for block in self._blocks(len(column)):
            words = [
                _unpacked(_product(part, block.packed(word)), word, block.number) for part in parts
            ]
            totals += words[0] if len(words) == 1 else _joined(words, step, block.number)
        return totals

    def factors(
        self, masses: Sequence[Column], shares: tuple[float, ...]
    ) -> list[tuple[float, ...]]:
        """Of each column, and in each resample, what the sum of its values is multiplied by.

        The mean over the columns that were drawn at all, with their ``shares``, is then the sum
        of the products; where none was drawn, all are NaN. Rows of one suite have the same
        ``masses``.
        """
        place = (tuple(masses), shares)
        if place not in self._factors:
            self._factors.clear()
            drawn = zip(*map(self.sums, masses), strict=True)
            self._factors[place] = list(
                zip(*(_factors(totals, shares) for totals in drawn), strict=True)
            )
        return self._factors[place]

    def _blocks(self, size: int) -> Iterator[_Block]:
        if size in self._kept:
            yield self._kept[size]
            return
        choices, clusters = random.Random(self.seed).choices, range(size)
        left, most = self.resamples, max(1, _KEPT // size)
        while left:
            number = min(left, most)
            rows = [array("I", [0]) * number for _ in clusters]
            for resample in range(number):
                for cluster in choices(clusters, k=size):
                    rows[cluster][resample] += 1
            block = _Block(number, rows)
            if number == self.resamples:
                self._kept.clear()
                self._kept[size] = block
            yield block
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


def _unpacked(packed: int, word: int, number: int) -> tuple[int, ...]:
    return struct.unpack(f"<{number}{_WORDS[word]}", packed.to_bytes(word // 8 * number, "little"))


def _factors(masses: Sequence[int], shares: Sequence[float]) -> list[float]:
    covered = fsum([share for share, mass in zip(shares, masses, strict=True) if mass])
    if not covered:
        return [nan] * len(masses)
    return [
        share / covered / mass if mass else 0.0 for share, mass in zip(shares, masses, strict=True)
    ]
