"""A rubric and its criteria, as values (SkillForgeBench §3.3, appendices D.4 and E.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.scenario.model import CheckSpec

#: Completion looks at the final workspace, process at the way there.
KINDS = ("completion", "process")
CRITERION_TYPES = ("skill_signal", "shared_baseline", "anti_pattern")
#: A criterion whose statement says what should not be: the one polarity beside the plain one.
PENALIZE = "penalize_when_met"
SEPARATIONS = ("separated", "not_separated", "not_measured")


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One of the six categories of D.4; ``title`` is the name that Figure 4 gives it."""

    name: str
    title: str
    kind: str
    meaning: str


TOPICS: dict[str, Topic] = {
    topic.name: topic
    for topic in (
        Topic(
            name="durable_artifact",
            title="Inspectable deliverable",
            kind="completion",
            meaning="a lasting deliverable that can be looked at, in the form that was asked for",
        ),
        Topic(
            name="output_discipline",
            title="Output structure",
            kind="completion",
            meaning="the structure and the reporting conventions that were asked for",
        ),
        Topic(
            name="domain_operationalization",
            title="Terminology use",
            kind="completion",
            meaning="concepts of the domain applied to the case, not merely named",
        ),
        Topic(
            name="phase_adherence",
            title="Workflow adherence",
            kind="process",
            meaning="the phases of the work, visibly and in their order",
        ),
        Topic(
            name="empirical_verification_loop",
            title="Iterative verification",
            kind="process",
            meaning="looking before acting, verifying after it, mending what failed",
        ),
        Topic(
            name="scope_discipline",
            title="Scope control",
            kind="process",
            meaning="doing what was asked, and no more than can be answered for",
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """A step of a graded ladder; ``value`` is its share of full credit, from 0 to 1."""

    value: float
    statement: str
    #: The picture of work that lacks what the criterion asks for.
    negative_anchor: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """How a criterion told two runs apart, with the skill and without it.

    Ranks are whole numbers, higher is better, None where nothing was measured. ``attribution``
    from 0 to 1 says how sure it is that the skill made the difference. ``provenance`` is what the
    draft saw in the two runs, and is never shown to a judge.
    """

    with_skill_rank: int | None = None
    no_skill_rank: int | None = None
    separation: str = "not_measured"
    attribution: float | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One atomic statement about a trial that holds or does not.

    ``kind`` is one of ``KINDS`` and ``category`` one of ``TOPICS``. The binary verdict is always
    asked for; ``ladder``, from the lowest rung to the highest, asks for a level too. With
    ``polarity`` ``penalize_when_met`` credit is given when the statement does *not* hold. A judge
    may only answer *does not apply* where ``applies_if`` says when it applies. A criterion with a
    ``check`` is decided by it and never shown to a judge.
    """

    id: str
    statement: str
    kind: str
    category: str
    weight: float = 1.0
    must: bool = False
    gatekeeper: bool = False
    ladder: tuple[Rung, ...] = ()
    look_for: str = ""
    positive_evidence: tuple[str, ...] = ()
    negative_anchor: str = ""
    false_positives: tuple[str, ...] = ()
    applies_if: str = ""
    #: Empty, or one of ``CRITERION_TYPES``.
    criterion_type: str = ""
    polarity: str = ""
    contrast: Contrast = Contrast()
    check: CheckSpec | None = None

    @property
    def penalized(self) -> bool:
        return self.polarity == PENALIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """The criteria of one scenario, in the order of their file.

    ``version`` is the form that the file has. ``facts`` is what a contrastive draft says of its
    making: runs, models, confidence; nothing is scored by it.
    """

    criteria: tuple[Criterion, ...]
    path: Path
    version: str = "1"
    facts: Mapping[str, Any] = field(default_factory=dict)

    def of(self, kind: str) -> tuple[Criterion, ...]:
        """All criteria of a kind, those with a check included."""
        return tuple(each for each in self.criteria if each.kind == kind)

    @property
    def judged(self) -> dict[str, tuple[Criterion, ...]]:
        """What a judge is asked: the criteria without a check, by kind."""
        return {kind: tuple(each for each in self.of(kind) if each.check is None) for kind in KINDS}

    @property
    def checks(self) -> tuple[CheckSpec, ...]:
        """The checks that decide criteria: the rubric's under the criterion's id, or the scenario's."""
        return tuple(each.check for each in self.criteria if each.check is not None)

    @property
    def gatekeeper(self) -> Criterion | None:
        return next((each for each in self.criteria if each.gatekeeper), None)
