"""A shard: the part of a run's trials that one of several invocations takes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_agentbench.options import SettingsError

_FORM = re.compile(r"(\d{1,6})/(\d{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Shard ``number`` of ``of``, counted from 1."""

    number: int
    of: int

    def holds(self, key: str) -> bool:
        """Whether a trial with this key, in hex, is in the shard.

        Each key is in exactly one of the shards 1 to ``of``, on every host and in every version:
        the first 16 digits as a number, modulo ``of``.
        """
        return int(key[:16], 16) % self.of == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def shard(text: str) -> Shard:
    """``"2/4"`` as a shard. Raises ``SettingsError``."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise SettingsError(
            f"--shard: {text!r} is no shard; write I/N, such as 2/4 for the second of four"
        )
    number, of = map(int, found.groups())
    if not 1 <= number <= of:
        raise SettingsError(
            f"--shard: {text!r}: shards of {of} are numbered 1 to {of}; where a launcher counts "
            "from 0, add 1"
            if of
            else f"--shard: {text!r}: there must be at least one shard, such as 1/1"
        )
    return Shard(number=number, of=of)
