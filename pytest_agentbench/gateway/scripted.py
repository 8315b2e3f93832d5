"""The scripted model: plays a scenario's steps through whatever tools a request offers.

It is no model and shows nothing about one. It sees requests and steps, keeps no state between
requests, and makes the same choices for the same seed, scenario and trial.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.gateway.chat import (
    BackendError,
    ChatReply,
    ChatRequest,
    ToolCall,
    ToolOffer,
)
from pytest_agentbench.scenario.model import DIFFICULTIES, Scenario, Step
from pytest_agentbench.trial import ModelProfile, Trial

POLICIES = ("solve", "solve-with-p", "refuse", "stall")
OPTIONS = ("policy", "seed", "solve", "faults")
_CLOSING = "All done."
_GIVING_UP = "I could not work this out."


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedModel:
    """What the model does.

    ``policy`` is one of ``POLICIES``, or ``error:STATUS``. With ``solve-with-p``, ``solve`` gives
    the chance of a solution for each difficulty. ``faults`` maps ``SCENARIO-tINDEX`` to an HTTP
    status with which all requests of that trial are answered.
    """

    policy: str = "solve"
    seed: int = 0
    solve: Mapping[str, float] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)

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
        solve, faults = options.get("solve", {}), options.get("faults", {})
        for name, table in (("solve", solve), ("faults", faults)):
            if not isinstance(table, Mapping):
                raise profile.refuse(f"{name} must be a table, not {table!r}")
        for name, chance in solve.items():
            if name not in DIFFICULTIES or type(chance) not in (int, float) or not 0 <= chance <= 1:
                raise profile.refuse(
                    f"solve.{name} = {chance!r}: the table gives a chance between 0 and 1 for "
                    f"each of {', '.join(DIFFICULTIES)}"
                )
        if policy == "solve-with-p" and (missing := [d for d in DIFFICULTIES if d not in solve]):
            raise profile.refuse(f"policy solve-with-p needs solve.{missing[0]}, a chance")
        for name, status in faults.items():
            if type(status) is not int or not 400 <= status <= 599:
                raise profile.refuse(
                    f"faults.{name} = {status!r}: must be an HTTP status, 400 to 599"
                )
        return cls(policy=policy, seed=seed, solve=solve, faults=faults)

    def backend(self, trial: Trial, steps: tuple[Step, ...]) -> Script:
        """What the model plays in ``trial``, where ``steps`` are the right ones."""
        scenario = trial.scenario
        fault = self.faults.get(f"{scenario.id}-t{trial.index}")
        if fault is not None:
            return Script(error=fault)
        if self.policy.startswith("error:"):
            return Script(error=int(self.policy[6:]))
        if self.policy == "stall":
            return Script(stall=True)
        if self.policy == "refuse":
            return Script(refusal="I will not do that.")
        if self.policy == "solve-with-p":
            drawn = self.draw(scenario, trial.index)
            if drawn >= self.solve[scenario.difficulty]:
                return Script(steps=self._failing(scenario, drawn))
        return Script(steps=steps)

    def draw(self, scenario: Scenario, index: int) -> float:
        """A number in [0, 1) out of SHA-256 of seed, scenario and trial."""
        digest = hashlib.sha256(f"{self.seed}|{scenario.id}|{index}".encode()).digest()
        return int.from_bytes(digest[:6]) / 2**48

    def _failing(self, scenario: Scenario, drawn: float) -> tuple[Step, ...]:
        if not scenario.probes:
            return (Step(verb="say", text=_GIVING_UP),)
        # Of the part of [0, 1) where it fails, every probe has an equal share.
        chance = self.solve[scenario.difficulty]
        place = int((drawn - chance) / (1 - chance) * len(scenario.probes))
        return scenario.probes[place].steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The backend of one run: steps to play, or a way to fail."""

    steps: tuple[Step, ...] = ()
    refusal: str = ""
    error: int | None = None
    stall: bool = False
    name: str = "scripted"
    scripted: bool = True

    def reply(self, request: ChatRequest, closing: threading.Event) -> ChatReply:
        if self.stall:
            closing.wait()
            raise BackendError(503, "the scripted model stalled until the run ended")
        if self.error is not None:
            raise BackendError(self.error, f"the scripted model answers {self.error}, as told")
        text, calls = ("", ()) if self.refusal else self._turn(request)
        asked = len(json.dumps(request.messages))
        said = len(text + self.refusal) + sum(len(json.dumps(call.args)) for call in calls)
        return ChatReply(
            text=text,
            calls=calls,
            refusal=self.refusal,
            input_tokens=_tokens(asked),
            output_tokens=_tokens(said),
        )

    def _turn(self, request: ChatRequest) -> tuple[str, tuple[ToolCall, ...]]:
        """The step that the results in the request call for, and what is said before it."""
        done = request.count("tool")
        said: list[str] = []
        number = 0
        for step in self.steps:
            if step.verb == "say":
                said.append(step.text)
                continue
            if number == done:
                return "\n".join(said), (_call(step, number + 1, request.tools),)
            number += 1
            said.clear()
        return "\n".join(said) or _CLOSING, ()


def _call(step: Step, number: int, offered: tuple[ToolOffer, ...]) -> ToolCall:
    tool = next((tool for tool in offered if tool.name == step.verb), None)
    if tool is None:
        names = ", ".join(tool.name for tool in offered) or "none"
        raise BackendError(501, f"the script needs a tool {step.verb!r}; offered: {names}")
    args: Mapping[str, Any]
    match step.verb:
        case "read":
            args = {"path": step.path}
        case "write":
            args = {"path": step.path, "content": step.content}
        case "edit":
            args = {"path": step.path, "old": step.old, "new": step.new}
        case "exec" if "argv" in tool.parameters:
            args = {"argv": list(step.argv)}
        case "exec":
            args = {"command": shlex.join(step.argv)}
        case _:
            args = {"service": step.service, "args": dict(step.args)}
    return ToolCall(id=f"call_{number}", name=tool.name, args=args)


def _tokens(characters: int) -> int:
    """A rough measure, four characters a token: the same for the same text, and no more."""
    return max(1, -(-characters // 4))
