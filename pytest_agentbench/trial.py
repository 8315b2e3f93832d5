"""A trial: scenario × runtime × model × mode × index, and what identifies it."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pytest_agentbench.execution import ModelEndpoint
from pytest_agentbench.scenario.model import Scenario, Step
from pytest_agentbench.skill import Notice, Offer, Role
from pytest_agentbench.spending import Price


class ProfileError(Exception):
    """A profile that makes no sense; the message names table and key, and what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A named table of options in ``pyproject.toml``."""

    kind: ClassVar[str]
    #: Fields that a score depends on, beside the options.
    declared: ClassVar[tuple[str, ...]] = ()
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def lock(self) -> str:
        """SHA-256 of what the profile says. Options may be nobody's business, so never themselves."""
        said = [*(getattr(self, name) for name in self.declared), self.options]
        text = json.dumps(said, sort_keys=True, default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def refuse(self, problem: str) -> ProfileError:
        """The error that says where in ``pyproject.toml`` the problem is."""
        return ProfileError(f"[tool.agentbench.{self.kind}.{self.name}]: {problem}")

    def only(self, allowed: Sequence[str]) -> None:
        """Raise ``ProfileError`` for an option that is not ``allowed``."""
        for name in sorted(set(self.options) - set(allowed)):
            raise self.refuse(f"unknown option {name!r}; allowed: {', '.join(allowed)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeProfile(Profile):
    """A named configuration of an adapter, from ``[tool.agentbench.runtimes.<name>]``.

    ``max_concurrent`` is the most trials of it that run at once on a machine; None leaves it to
    the adapter. ``conformance`` is the file with what the conformance suite found of it.
    """

    kind = "runtimes"
    declared = ("adapter", "version")
    adapter: str
    version: str = ""
    model: str | None = None
    max_concurrent: int | None = None
    conformance: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tape:
    """The folder in which a run's model calls are recorded, or from which they are replayed."""

    folder: Path
    replays: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile(Profile):
    """A named model, from ``[tool.agentbench.models.<name>]``."""

    kind = "models"
    declared = ("backend",)
    backend: str
    price: Price | None = None
    tape: Tape | None = None

    @property
    def replayed(self) -> bool:
        """Whether a recording answers, and no model."""
        return self.tape is not None and self.tape.replays


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One agent run inside a trial.

    ``seconds`` is its time limit, multiplier included. In ``prompt_prefix``, ``{skills}`` stands
    for the runtime's folder of skills and ``{evidence}`` for the file that tells of an earlier
    phase. ``skills`` are what the agent is given; None where skills are no part of it. With
    ``reuses`` it is also given what agents of earlier phases made. The trial's grade is that of the
    ``graded`` phase, its last; the workspace of a ``scored`` one is graded as well, and told of in
    the evidence for later phases.
    """

    name: str
    seconds: float
    prompt_prefix: str = ""
    role: Role = "execute"
    graded: bool = True
    scored: bool = False
    reuses: bool = False
    skills: tuple[Offer, ...] | None = None

    @property
    def guarded(self) -> bool:
        """Whether the agent is to leave skills as they are."""
        return self.role == "execute" and (self.reuses or self.skills is not None)


@dataclass(frozen=True, kw_only=True)  # no slots: the key is kept once it is known
class Trial:
    """One run of one scenario: what a pytest item is about.

    ``index`` counts from 1. ``lock`` holds hashes of everything declared that the score
    depends on; ``key`` identifies the trial in ledgers, and changes when the lock does.
    """

    scenario: Scenario
    runtime: RuntimeProfile
    mode: str
    index: int
    phases: tuple[Phase, ...]
    model: ModelProfile | None = None
    lock: Mapping[str, str] = field(default_factory=dict)
    max_attempts: int = 2
    timeout_multiplier: float = 1.0

    @property
    def label(self) -> str:
        """What stands between the brackets of the item's id."""
        return f"{condition(self.runtime, self.model, self.mode)}-t{self.index}"

    @property
    def id(self) -> str:
        return f"{self.scenario.id}[{self.label}]"

    @property
    def model_name(self) -> str:
        return self.model.name if self.model else ""

    @property
    def graded_phase(self) -> Phase:
        return next(phase for phase in self.phases if phase.graded)

    @functools.cached_property
    def key(self) -> str:
        """SHA-256 of what identifies the trial, in hex."""
        parts = [
            self.scenario.id,
            self.runtime.name,
            self.model_name,
            self.mode,
            self.index,
            dict(sorted(self.lock.items())),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def condition(runtime: RuntimeProfile, model: ModelProfile | None, mode: str) -> str:
    """What the ids of trials that differ in their index alone have in common."""
    parts = [runtime.name, *([model.name] if model else []), mode]
    return "-".join(_UNSAFE.sub("_", part) for part in parts)


_UNSAFE = re.compile(r"[^\w.@+/-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """All that an adapter is given for one run.

    ``workspace`` is the agent's, ``home`` a fresh HOME, ``state`` a private folder of the
    harness for this run where transcripts are written. ``steps`` is for ``oracle`` alone.
    """

    id: str
    trial: Trial
    phase: Phase
    prompt: str
    workspace: Path
    home: Path
    state: Path
    seconds: float
    model: ModelEndpoint | None = None
    steps: tuple[Step, ...] = ()
    #: Skills that its workspace holds, to look for in what the runtime tells the model.
    skills: tuple[Notice, ...] = ()
