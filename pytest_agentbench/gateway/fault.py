"""Failures of a model on demand: a profile's options ``fault`` and ``faults``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pytest_agentbench.trial import ModelProfile, Trial

KINDS = ("refused", "hang", "cut", "malformed", "slow", "huge", "empty", "overflow")
_KEYS = ("kind", "calls", "first", "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What befalls a run's calls: those numbered ``calls``, the ``first`` so many, else all.

    ``kind`` is one of ``KINDS`` or an HTTP status; ``seconds`` is how much longer a slow answer
    takes.
    """

    kind: str
    calls: tuple[int, ...] = ()
    first: int = 0
    seconds: float = 3.0

    def befalls(self, number: int) -> bool:
        """Whether call ``number`` of a run, from 1 on, fails."""
        everything = not self.calls and not self.first
        return everything or number in self.calls or number <= self.first

    @classmethod
    def of(cls, profile: ModelProfile, key: str, said: Any) -> Fault:
        """The fault that a profile's ``key`` asks for. Raises ``ProfileError``."""
        table = dict(said) if isinstance(said, Mapping) else {"kind": said}
        for name in table:
            if name not in _KEYS:
                raise profile.refuse(f"{key}.{name} is not known; allowed: {', '.join(_KEYS)}")
        kind, calls = table.get("kind"), table.get("calls", [])
        first, seconds = table.get("first", 0), table.get("seconds", 3.0)
        text = str(kind) if type(kind) in (int, str) else ""
        if text not in KINDS and not (text.isdigit() and 400 <= int(text) <= 599):
            raise profile.refuse(
                f"{key} = {kind!r}: must be an HTTP status, 400 to 599, or one of "
                f"{', '.join(KINDS)}"
            )
        numbers: list[Any] = calls if isinstance(calls, list) else [None]
        if not all(type(number) is int and number > 0 for number in numbers):
            raise profile.refuse(f"{key}.calls must be a list of numbers from 1 on, not {calls!r}")
        if type(first) is not int or first < 0:
            raise profile.refuse(f"{key}.first must be a number of calls, not {first!r}")
        if type(seconds) not in (int, float) or not 0 <= seconds <= 86400:
            raise profile.refuse(f"{key}.seconds must be from 0 to 86400, not {seconds!r}")
        return cls(kind=text, calls=tuple(numbers), first=first, seconds=float(seconds))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fault:
        return cls(**{**data, "calls": tuple(data["calls"])})

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "calls": list(self.calls)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """``always`` is for every trial, unless ``trials`` has one for ``SCENARIO-tINDEX``."""

    always: Fault | None = None
    trials: Mapping[str, Fault] = field(default_factory=dict)

    @classmethod
    def split(cls, profile: ModelProfile) -> tuple[ModelProfile, Faults]:
        """The profile without its faults, and these. Raises ``ProfileError``."""
        options = dict(profile.options)
        always, trials = options.pop("fault", None), options.pop("faults", {})
        if not isinstance(trials, Mapping):
            raise profile.refuse(f"faults must be a table, not {trials!r}")
        faults = cls(
            always=None if always is None else Fault.of(profile, "fault", always),
            trials={key: Fault.of(profile, f"faults.{key}", said) for key, said in trials.items()},
        )
        return replace(profile, options=options), faults

    def of(self, trial: Trial) -> Fault | None:
        return self.trials.get(f"{trial.scenario.id}-t{trial.index}", self.always)
