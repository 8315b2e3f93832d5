"""Contrastive skill rubrics, schema v2, as far as SkillForgeBench states it (appendix E.4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_agentbench.scenario.rubric import (
    CRITERION_TYPES,
    PENALIZE,
    SEPARATIONS,
    Contrast,
    Criterion,
    Rubric,
    Rung,
)
from pytest_agentbench.scenario.rubric_form import (
    MAX_WEIGHT,
    hold_together,
    ladder,
    named,
    rank,
    sentence,
    topic_of,
)
from pytest_agentbench.scenario.table import Table, refuse, unknown
from pytest_agentbench.scenario.yamlfile import kind

VERSION = "contrastive_skill_rubric.v2"
#: Keys of earlier versions that the harness owns now; v2 refuses them.
HARNESS_OWNED = ("judge_protocol", "judge_output_schema", "aggregation", "trajectory_truth_guard")


def rubric(table: Table) -> Rubric:
    """The rubric in ``table``. Raises ``ScenarioError``.

    Keys that the paper does not name are kept: its schema is not a part of it.
    """
    for key in HARNESS_OWNED:
        if key in table.value:
            raise table.refuse(key, "belongs to the harness since v2; remove the key")
    declared = tuple(_declared(table))
    found = [_criterion(entry, declared) for entry in table.tables("criteria")]
    hold_together(table, found)
    facts = {key: value for key, value in table.value.items() if key != "criteria"}
    return Rubric(criteria=tuple(found), path=table.document.path, version=VERSION, facts=facts)


def _declared(table: Table) -> Iterable[str]:
    """The categories that ``category_taxonomy`` declares, by our names."""
    for entry in table.tables("category_taxonomy"):
        topic = topic_of(entry, "category_id")
        entry.number("category_weight", 1.0, high=MAX_WEIGHT)
        yield topic.name


def _criterion(entry: Table, declared: tuple[str, ...]) -> Criterion:
    topic = topic_of(entry, "category_id")
    if declared and topic.name not in declared:
        raise unknown(
            entry.document, (*entry.at, "category_id"), entry.text("category_id"), declared
        )
    guidance = entry.table("judge_guidance")
    sort = entry.choice("criterion_type", "", CRITERION_TYPES)
    polarity = entry.choice("anti_pattern_polarity", "", (PENALIZE,))
    return Criterion(
        id=named(entry, "criterion_id" if "criterion_id" in entry else "id"),
        statement=sentence(entry, "statement"),
        kind=topic.kind,
        category=topic.name,
        weight=entry.number("weight", 1.0, above=0, high=MAX_WEIGHT),
        gatekeeper=entry.flag("gatekeeper"),
        ladder=_scoring(entry, penalized=polarity == PENALIZE),
        look_for=guidance.text("what_to_look_for"),
        positive_evidence=guidance.texts("positive_evidence"),
        negative_anchor=guidance.text("negative_anchor"),
        false_positives=guidance.texts("common_false_positives"),
        criterion_type=sort,
        polarity=polarity,
        contrast=_contrast(entry),
    )


def _scoring(entry: Table, *, penalized: bool) -> tuple[Rung, ...]:
    """The graded ladder, once the binary block is found to be there and to fit the polarity."""
    entry.need("scoring")
    scoring = entry.table("scoring")
    scoring.need("binary")
    binary = scoring.table("binary")
    for key, value in (("met_value", not penalized), ("unmet_value", penalized)):
        if binary.whole(key, int(value), low=0, high=1) != value:
            fit = (
                f"an anti-pattern with {PENALIZE}" if penalized else "a statement that should hold"
            )
            raise binary.refuse(key, f"must be {int(value)} for {fit}")
    mode = scoring.choice("mode", "both" if "graded" in scoring else "binary", ("binary", "both"))
    if (mode == "both") != ("graded" in scoring):
        problem = "asks for a `graded` block" if mode == "both" else "has no use for a graded block"
        raise scoring.refuse("mode", f"is {kind(mode)}, which {problem}")
    if "graded" not in scoring:
        return ()
    graded = scoring.table("graded")
    rungs = list(graded.tables("ladder"))
    if "max" in graded and graded.value["max"] != len(rungs) - 1:
        raise graded.refuse("max", f"must be {len(rungs) - 1}, the level of the last rung")
    return ladder(graded, [_rung(rung) for rung in rungs])


def _rung(rung: Table) -> tuple[Table, Any, str, str]:
    level = rung.value.get("level", rung.value.get("score"))
    return rung, level, "descriptor", "is_negative_anchor"


def _contrast(entry: Table) -> Contrast:
    known = entry.table("discrimination")
    provenance = entry.table("contrast_provenance")
    for anchor in provenance.tables("anchors"):
        if anchor.value.get("binding") != "illustrative_only":
            raise refuse(anchor.document, anchor.at, "needs `binding: illustrative_only`")
    attribution = "skill_attribution_confidence"
    return Contrast(
        with_skill_rank=rank(known, "with_skill_rank"),
        no_skill_rank=rank(known, "no_skill_rank"),
        separation=known.choice("arm_separation", "not_measured", SEPARATIONS),
        attribution=entry.number(attribution, 0, high=1) if attribution in entry else None,
        provenance=provenance.value,
    )
