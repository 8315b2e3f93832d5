"""Modes: the conditions under which a scenario is run.

EvoClawBench (§3.3, appendices A, B, L) defines ``baseline``, ``preskill``, ``postskill`` and three
controls; SkillForgeBench contrasts ``with-skill`` with ``baseline``.
"""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytest_agentbench.prefixes import AUTHOR, REUSE, SUMMARISE
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.seeds import Kind, seeds
from pytest_agentbench.skill import Offer, Role
from pytest_agentbench.skills.contents import digest
from pytest_agentbench.trial import Phase

#: The harness's own skills, by what a stage calls them.
_SEEDED: dict[str, Kind] = {
    "creator": "skill-creator",
    "irrelevant": "irrelevant",
    "empty": "empty",
}
Skills = Literal["none", "curated", "made", "creator", "irrelevant", "empty", "siblings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A phase as a mode plans it.

    ``share`` is its part of the scenario's time limit. ``skills`` are those that the agent is
    given: ``none``; ``curated``, the scenario's own; ``made``, by agents of earlier stages;
    ``creator``, ``irrelevant`` or ``empty``, the harness's; or ``siblings``, authored on scenarios
    of the same family. ``role``, ``graded`` and ``scored`` are those of ``trial.Phase``.
    """

    name: str
    prompt_prefix: str = ""
    role: Role = "execute"
    graded: bool = True
    scored: bool = False
    share: float = 1.0
    skills: Skills = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """An experimental condition: its stages in order, of which the last one alone is graded."""

    name: str
    stages: tuple[Stage, ...]

    @property
    def transfers(self) -> bool:
        """Whether an agent is given what was authored on siblings."""
        return any(stage.skills == "siblings" for stage in self.stages)

    @property
    def problem(self) -> str:
        """Why it cannot be run, "" if it can."""
        told = ", ".join(stage.name + " (graded)" * stage.graded for stage in self.stages) or "none"
        if [stage.graded for stage in self.stages] != [False] * (len(self.stages) - 1) + [True]:
            return f"its last stage alone must be graded; its stages are: {told}"
        if self.stages[-1].role != "execute":
            return f"its graded stage {self.stages[-1].name!r} must have the role execute"
        if len({stage.name for stage in self.stages}) < len(self.stages):
            return f"its stages must have names of their own; they are: {told}"
        return ""


def _author(name: str) -> Stage:
    return Stage(name=name, prompt_prefix=AUTHOR, role="author", graded=False, skills="creator")


def _summary(name: str) -> Stage:
    prefix = SUMMARISE
    return Stage(name=name, prompt_prefix=prefix, role="summarise", graded=False, skills="creator")


def _first(name: str) -> Stage:
    return Stage(name=name, graded=False, scored=True)


def _reuse(name: str, skills: Skills) -> Stage:
    return Stage(name=name, prompt_prefix=REUSE, skills=skills)


MODES: dict[str, Mode] = {
    mode.name: mode
    for mode in (
        Mode(name="baseline", stages=(Stage(name="baseline"),)),
        Mode(
            name="preskill",
            stages=(_author("preskill_author"), _reuse("preskill_execute", "made")),
        ),
        Mode(
            name="postskill",
            stages=(
                _first("postskill_first"),
                _summary("postskill_summary"),
                _reuse("postskill_second", "made"),
            ),
        ),
        Mode(name="with-skill", stages=(Stage(name="with-skill", skills="curated"),)),
        Mode(name="empty-skill", stages=(_reuse("empty-skill", "empty"),)),
        Mode(name="irrelevant-skill", stages=(_reuse("irrelevant-skill", "irrelevant"),)),
        Mode(
            name="discard-skill",
            stages=(
                _first("discard_first"),
                _summary("discard_summary"),
                Stage(name="discard_second"),
            ),
        ),
        Mode(name="transfer", stages=(_reuse("transfer", "siblings"),)),
    )
}


def phases(
    mode: Mode,
    scenario: Scenario,
    multiplier: float = 1.0,
    floor: float = 0.0,
    siblings: tuple[Path, ...] = (),
) -> tuple[Phase, ...]:
    """The phases of a trial of ``scenario``.

    ``multiplier`` stretches every time limit; ``floor`` is the least that any becomes, in seconds.
    ``siblings`` are skills that were authored on scenarios of the same family.
    """
    return tuple(
        Phase(
            name=stage.name,
            seconds=max(scenario.timeout_seconds * stage.share * multiplier, floor),
            prompt_prefix=stage.prompt_prefix,
            role=stage.role,
            graded=stage.graded,
            scored=stage.scored,
            reuses=stage.skills == "made",
            skills=_offers(stage.skills, scenario, siblings),
        )
        for stage in mode.stages
    )


def _offers(
    skills: Skills, scenario: Scenario, siblings: tuple[Path, ...]
) -> tuple[Offer, ...] | None:
    if skills == "none" or skills == "made":
        return None
    if skills in _SEEDED:
        return _seeds(skills)
    given = scenario.skills if skills == "curated" else siblings
    return tuple(Offer(folder=folder) for folder in given)


@functools.cache
def _seeds(skills: str) -> tuple[Offer, ...]:
    seeded = skills == "creator"
    return tuple(Offer(folder=folder, seeded=seeded) for folder in seeds(_SEEDED[skills]))


def declared(phases: tuple[Phase, ...], scenario: Scenario) -> str:
    """SHA-256 of what the phases are beyond the scenario's own task and skills, "" if nothing.

    Raises ``TrialFault`` for a skill that cannot be read.
    """
    told = [
        [
            *(phase.name, phase.prompt_prefix, phase.role, phase.scored, phase.reuses),
            [[offer.name, digest(offer.folder)] for offer in phase.skills or ()],
        ]
        for phase in phases
        if phase.prompt_prefix
        or phase.reuses
        or not phase.graded
        or any(offer.folder not in scenario.skills for offer in phase.skills or ())
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest() if told else ""
