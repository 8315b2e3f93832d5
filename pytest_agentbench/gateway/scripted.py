"""The scripted model: plays a scenario's steps through whatever tools a request offers.

It is no model and shows nothing about one. It sees requests and steps, keeps no state between
requests, and makes the same choices for the same seed, scenario and trial.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.gateway.chat import Policy
from pytest_agentbench.scenario.model import DIFFICULTIES, Scenario, Step
from pytest_agentbench.trial import ModelProfile, Trial

POLICIES = (
    *("solve", "solve-with-p", "wrong", "careless", "apprentice"),
    *("loop", "refuse", "stall", "judge", "drafter"),
)
OPTIONS = ("policy", "seed", "solve", "manner", "evidence", "lesson", "edits")
_GIVING_UP = (Step(verb="say", text="I could not work this out."),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedModel:
    """What the model does.

    ``policy`` is one of ``POLICIES``, or ``error:STATUS``. With ``solve-with-p``, ``solve`` gives
    the chance of a solution for each difficulty; with ``judge`` and ``drafter``, ``judging`` how it judges or drafts. An
    ``apprentice`` has ``lessons`` by scenario, "" for all others, and may be one that ``edits`` the
    skills which it uses.
    """

    policy: str = "solve"
    seed: int = 0
    solve: Mapping[str, float] = field(default_factory=dict)
    judging: Mapping[str, Any] = field(default_factory=dict)
    lessons: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    edits: bool = False

    @classmethod
    def of(cls, profile: ModelProfile) -> ScriptedModel:
        """The model of a profile. Raises ``ProfileError``."""
        options = profile.options
        profile.only(OPTIONS)
        policy = options.get("policy", "solve-with-p" if "solve" in options else "solve")
        if policy not in POLICIES and not re.fullmatch(r"error:[45]\d\d", str(policy)):
            known = ", ".join(POLICIES)
            raise profile.refuse(f"policy {policy!r} is not known; allowed: {known}, error:STATUS")
        seed = options.get("seed", 0)
        if type(seed) is not int:
            raise profile.refuse(f"seed must be a whole number, not {seed!r}")
        solve = options.get("solve", {})
        if not isinstance(solve, Mapping):
            raise profile.refuse(f"solve must be a table, not {solve!r}")
        for name, chance in solve.items():
            if name not in DIFFICULTIES or type(chance) not in (int, float) or not 0 <= chance <= 1:
                raise profile.refuse(
                    f"solve.{name} = {chance!r}: the table gives a chance between 0 and 1 for "
                    f"each of {', '.join(DIFFICULTIES)}"
                )
        if policy == "solve-with-p" and (missing := [d for d in DIFFICULTIES if d not in solve]):
            raise profile.refuse(f"policy solve-with-p needs solve.{missing[0]}, a chance")
        judging: Mapping[str, Any] = {}
        if policy == "drafter":
            from pytest_agentbench.gateway import draft_script

            judging = draft_script.options(profile)
        elif policy == "judge" or options.keys() & {"manner", "evidence"}:
            from pytest_agentbench.gateway import judge_script

            judging = judge_script.options(profile, policy)
        lessons, edits = _apprenticeship(profile, policy)
        return cls(
            policy=policy, seed=seed, solve=solve, judging=judging, lessons=lessons, edits=edits
        )

    def plan(self, trial: Trial, steps: tuple[Step, ...]) -> ScriptPlan:
        """What the model plays in ``trial``, where ``steps`` are the right ones."""
        scenario = trial.scenario
        if self.policy.startswith("error:"):
            return ScriptPlan(kind="error", options={"status": int(self.policy[6:])})
        match self.policy:
            case "solve-with-p":
                drawn = self.draw(scenario, trial.index)
                solved = drawn < self.solve[scenario.difficulty]
                return ScriptPlan(steps=steps if solved else self._failing(scenario, drawn))
            case "wrong":
                probes = (p for p in scenario.probes if p.plausible and not p.passes)
                probe = next(probes, None)
                return ScriptPlan(steps=probe.steps if probe else _GIVING_UP)
            case "solve":
                return ScriptPlan(steps=steps)
            case "careless":
                return ScriptPlan(kind="careless", steps=steps)
            case "judge" | "drafter":
                return ScriptPlan(kind=self.policy, options=self.judging)
            case "apprentice":
                lesson = self.lessons.get(scenario.id, self.lessons.get("", {}))
                options = {"lesson": dict(lesson), "edits": self.edits}
                return ScriptPlan(kind="apprentice", options=options)
        return ScriptPlan(kind=self.policy)

    def draw(self, scenario: Scenario, index: int) -> float:
        """A number in [0, 1) out of SHA-256 of seed, scenario and trial."""
        digest = hashlib.sha256(f"{self.seed}|{scenario.id}|{index}".encode()).digest()
        return int.from_bytes(digest[:6]) / 2**48

    def _failing(self, scenario: Scenario, drawn: float) -> tuple[Step, ...]:
        if not scenario.probes:
            return _GIVING_UP
        # Of the part of [0, 1) where it fails, every probe has an equal share.
        chance = self.solve[scenario.difficulty]
        place = int((drawn - chance) / (1 - chance) * len(scenario.probes))
        return scenario.probes[place].steps


def _apprenticeship(
    profile: ModelProfile, policy: str
) -> tuple[Mapping[str, Mapping[str, str]], bool]:
    """The options that an apprentice alone has."""
    options = profile.options
    for name in ("lesson", "edits"):
        if name in options and policy != "apprentice":
            raise profile.refuse(f"{name} is an option of policy apprentice, not of {policy}")
    edits = options.get("edits", False)
    if type(edits) is not bool:
        raise profile.refuse(f"edits must be true or false, not {edits!r}")
    if "lesson" not in options:
        return {}, edits
    from pytest_agentbench.gateway.lesson import LessonError, lessons

    try:
        return lessons(options["lesson"]), edits
    except (OSError, LessonError) as error:
        raise profile.refuse(str(error)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptPlan:
    """What is played in one run: made where trials run, carried out in the gateway.

    ``kind`` is ``play``, ``careless``, ``apprentice``, ``stall``, ``refuse``, ``loop``, ``judge``,
    ``drafter`` or ``error``. Options are the ``status`` of an error, how a judge judges, and what an
    ``Apprentice`` is made of.
    """

    kind: str = "play"
    steps: tuple[Step, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The plan as plain JSON, which ``from_json`` reads."""
        steps = [dataclasses.asdict(step) for step in self.steps]
        return {"kind": self.kind, "steps": steps, "options": dict(self.options)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ScriptPlan:
        steps = (Step(**{**step, "argv": tuple(step["argv"])}) for step in data["steps"])
        return cls(kind=data["kind"], steps=tuple(steps), options=data["options"])

    def policy(self) -> Policy:
        """What carries the plan out."""
        from pytest_agentbench.gateway import policies
        from pytest_agentbench.gateway.apprentice import Apprentice
        from pytest_agentbench.gateway.play import Play

        match self.kind:
            case "error":
                return policies.Fail(status=self.options["status"])
            case "stall":
                return policies.Stall()
            case "refuse":
                return policies.Refuse()
            case "loop":
                return policies.Loop()
            case "judge":
                from pytest_agentbench.gateway.judge_script import ScriptedJudge

                return ScriptedJudge.from_json(self.options)
            case "drafter":
                from pytest_agentbench.gateway.draft_script import ScriptedDrafter

                return ScriptedDrafter(manners=tuple(self.options["manners"]))
            case "apprentice":
                return Apprentice(**self.options)
            case "play" | "careless":
                return Play(steps=self.steps, careless=self.kind == "careless")
        raise ValueError(f"there is no plan of kind {self.kind!r}")
