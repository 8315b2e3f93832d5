"""Modes: the conditions under which a scenario is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.trial import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A phase as a mode plans it.

    ``share`` is its part of the scenario's time limit. ``skills`` are those that the agent is
    given: none, or the scenario's own.
    """

    name: str
    prompt_prefix: str = ""
    graded: bool = True
    share: float = 1.0
    skills: Literal["none", "curated"] = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """An experimental condition: its stages in order, exactly one of them graded."""

    name: str
    stages: tuple[Stage, ...]


MODES: dict[str, Mode] = {
    mode.name: mode
    for mode in (
        Mode(name="baseline", stages=(Stage(name="baseline"),)),
        Mode(name="with-skill", stages=(Stage(name="with-skill", skills="curated"),)),
    )
}


def phases(
    mode: Mode, scenario: Scenario, multiplier: float = 1.0, floor: float = 0.0
) -> tuple[Phase, ...]:
    """The phases of a trial of ``scenario``.

    ``multiplier`` stretches every time limit; ``floor`` is the least that any becomes, in seconds.
    """
    return tuple(
        Phase(
            name=stage.name,
            seconds=max(scenario.timeout_seconds * stage.share * multiplier, floor),
            prompt_prefix=stage.prompt_prefix,
            graded=stage.graded,
            skills=scenario.skills if stage.skills == "curated" else None,
        )
        for stage in mode.stages
    )
