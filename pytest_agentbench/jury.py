"""Who judges, and how: what ``--judge`` and the options around it say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.options import Said, names, one_of, positive, whole
from pytest_agentbench.trial import ModelProfile, Tape

#: The folder of verdicts in that of a run or of its recording.
VERDICTS = "verdicts"
VOTES = ("majority", "mean")
#: Keys of ``[tool.agentbench.defaults]``.
KEYS = ("judge", "judge_vote", "judge_concurrency", "judge_seconds", "judge_cache")


@dataclass(frozen=True, slots=True, kw_only=True)
class Jury:
    """The profiles of the judges and how they decide together; without any, nobody judges.

    ``places`` bounds the judges' calls that are under way at once on a host, ``seconds`` is for
    one answer, ``cache`` a folder of verdicts that runs share.
    """

    profiles: tuple[ModelProfile, ...] = ()
    vote: str = "majority"
    places: int = 4
    seconds: float = 120.0
    cache: Path | None = None

    @property
    def patience(self) -> float:
        """Seconds that a trial may take for its judges: several calls, tries and turns of others."""
        return 10 * self.seconds if self.profiles else 0.0

    def __bool__(self) -> bool:
        return bool(self.profiles)


def jury(said: Said, profile: Callable[[str], ModelProfile], tape: Tape | None = None) -> Jury:
    """The jury that ``said`` asks for; with a ``tape``, verdicts are kept with it.

    Raises ``SettingsError``.
    """
    cache = said.get("judge_cache") or (tape.folder / VERDICTS if tape else None)
    return Jury(
        profiles=tuple(profile(name) for name in names(said.get("judge", []), said.where("judge"))),
        vote=one_of(said.get("judge_vote") or "majority", said.where("judge_vote"), VOTES),
        places=whole(said.get("judge_concurrency", 4), said.where("judge_concurrency"), 1, 1000),
        seconds=positive(said.get("judge_seconds", 120.0), said.where("judge_seconds")),
        cache=Path(cache).absolute() if cache else None,
    )
