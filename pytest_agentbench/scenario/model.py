"""A scenario and its parts, as values."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_agentbench.scenario.rubric import Rubric

#: Share of each dimension in the overall score (ClawProBench §3.5).
DIMENSIONS: dict[str, float] = {
    "tool_use": 0.20,
    "planning": 0.20,
    "constraints": 0.15,
    "error_recovery": 0.15,
    "synthesis": 0.15,
    "safety": 0.15,
}
#: Factor of each difficulty in a scenario's weight (ClawProBench §3.5).
DIFFICULTIES: dict[str, int] = {"easy": 1, "medium": 2, "hard": 4, "expert": 8}
CATEGORIES = ("correctness", "process", "safety", "efficiency")
SEVERITIES = ("minor", "major", "critical")

#: In ``Scenario.extra`` of a Python test that asks judges itself.
ASKS_JUDGES = "asks_judges"


class Form(enum.StrEnum):
    """The form that a file was written in; some rules differ by it (see docs/scenarios.md)."""

    NATIVE = "native"
    CLAWPRO = "clawpro"
    EVOCLAW = "evoclaw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a solution or probe, in the canonical tool vocabulary.

    ``verb`` is one of read, write, edit, exec, call, say. ``path`` is relative to the workspace
    (read, write, edit); ``content`` is for write, ``old`` and ``new`` for edit, ``argv`` for
    exec, ``service`` and ``args`` for call, ``text`` for say.
    """

    verb: str
    path: str = ""
    content: str = ""
    old: str = ""
    new: str = ""
    argv: tuple[str, ...] = ()
    service: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSpec:
    """One atomic check as declared.

    A ``guard`` is a check that the untouched workspace passes: it earns nothing, and its
    failure takes its points away. ``params`` are those of the check's type.
    """

    id: str
    type: str
    points: float = 1.0
    category: str = "correctness"
    severity: str = "major"
    guard: bool = False
    description: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A near-miss: steps that do not solve the scenario, and the checks that must fail on them.

    ``plausible`` marks the probe which is what a good model might write: the right form with
    one rule misapplied. ``passes`` marks a lesser slip: checks fail, and the scenario does not.
    """

    name: str
    steps: tuple[Step, ...]
    fails: tuple[str, ...]
    plausible: bool = False
    passes: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file that the workspace starts with: ``content``, or a copy of ``source``.

    ``dest`` is relative to the workspace, with forward slashes.
    """

    dest: str
    source: Path | None = None
    content: bytes | None = None
    executable: bool = False

    def read(self) -> bytes:
        """The bytes that the file begins with. Raises ``OSError`` for a source that is gone."""
        return self.source.read_bytes() if self.source is not None else self.content or b""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraderCode:
    """Python that grades: a file with ``grade`` (and ``grade_process``), or embedded source."""

    path: Path | None = None
    source: str | None = None
    #: How ``grade`` is called and what it returns: ``clawpro`` or ``evoclaw``.
    api: str = "clawpro"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One benchmark task. Built by the loaders only; everything in it is final."""

    id: str
    path: Path
    prompt: str
    form: Form = Form.NATIVE
    name: str = ""
    dimension: str = ""
    difficulty: str = "medium"
    weight: float = 1.0
    family: str = ""
    #: Ids of scenarios of the same kind of work, with other inputs and answers.
    siblings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    exposure: str = "zero-shot"
    severity: str = "major"
    #: Whether it is part of its suite's count; one that is not is run and shown beside it.
    official: bool = True
    requires: tuple[str, ...] = ()

    inputs: tuple[InputFile, ...] = ()
    setup_script: Path | None = None
    teardown_script: Path | None = None
    sandbox: Mapping[str, Any] = field(default_factory=dict)
    skills: tuple[Path, ...] = ()

    timeout_seconds: float = 180.0
    optimal_steps: int = 5
    policy: str = "composite"
    pass_threshold: float | None = None
    efficiency_penalty_cap: float = 0.30
    efficiency_penalty_rate: float = 0.15

    tools: tuple[str, ...] = ()
    expected_tools: tuple[str, ...] = ()
    ideal_tool_sequence: tuple[str, ...] = ()
    checks: tuple[CheckSpec, ...] = ()
    grader: GraderCode | None = None
    #: Weights of the automated and the judged part of a hybrid grade.
    hybrid: tuple[float, float] | None = None
    #: What the judge of a hybrid goes by, as written.
    rubric: Mapping[str, Any] | str | None = None
    #: Atomic criteria on the deliverable and on the way it was made.
    atomic_rubric: Rubric | None = None
    expected_outcome: str = ""
    criteria: tuple[str, ...] = ()
    sub_problems: tuple[str, ...] = ()

    solution: tuple[Step, ...] = ()
    probes: tuple[Probe, ...] = ()
    #: Other right answers, which must score as the solution does; their ``fails`` is empty.
    alternatives: tuple[Probe, ...] = ()

    #: Line of each top-level key in the file, 1-based.
    lines: Mapping[str, int] = field(default_factory=dict)
    #: Documentation keys that nothing acts on, kept as written.
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def native(self) -> bool:
        return self.form is Form.NATIVE

    @property
    def threshold(self) -> float:
        """Score at which a trial passes: the file's, else the policy's."""
        if self.pass_threshold is not None:
            return self.pass_threshold
        return {"composite": 0.6, "mean": 1.0}.get(self.policy, 1.0)


class ScenarioError(Exception):
    """A scenario file that does not load.

    The message names the file, the line where there is one, the key, what is wrong and what is
    allowed, and is shown as it stands.
    """

    def __init__(self, path: Path, problem: str, *, line: int | None = None) -> None:
        place = f"{path.name}:{line}" if line else path.name
        super().__init__(f"{place}: {problem}")
        self.path = path
        self.line = line
        self.problem = problem
