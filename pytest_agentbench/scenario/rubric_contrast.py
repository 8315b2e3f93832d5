"""What a contrastive rubric must hold to: the rules of SkillForgeBench E.4 for a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_agentbench.scenario import rubric_v2
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.scenario.rubric import TOPICS, Criterion, Rubric
from pytest_agentbench.scenario.rubric_wording import (
    Problem,
    answers,
    guidance,
    stands,
    wording,
)

MAX_SUMMARY, MAX_SUMMARY_SENTENCES = 600, 2
#: The most confidence of a set that was inferred from one run, or that found no difference; and
#: of one whose task gives its answer away.
UNMEASURED, LEAKY = 0.5, 0.6
LEAK_RISKS = ("none", "low", "moderate", "heavy")
METHODS = ("contrastive", "single_arm_inferred")


def problems(rubric: Rubric, scenario: Scenario | None = None) -> tuple[Problem, ...]:
    """What is wrong with the wording of any rubric, and with its types, polarities and ranks."""
    ranks = [Problem(each.id, text) for each in rubric.criteria for text in _ranks(each)]
    return (*wording(rubric, scenario), *ranks)


def draft_problems(rubric: Rubric, scenario: Scenario | None = None) -> tuple[Problem, ...]:
    """Every rule of E.4 that a draft breaks, form apart, which the loader holds it to."""
    facts = rubric.facts
    found = list(problems(rubric, scenario))
    if rubric.version != rubric_v2.VERSION:
        found.append(Problem("", f"a draft has `schema_version: {rubric_v2.VERSION}`"))
        return tuple(found)
    found += (Problem("", text) for text in _set_level(facts))
    found += (Problem("", text) for text in _taxonomy(rubric))
    found += (Problem("", text) for text in _confidence(rubric))
    for each in rubric.criteria:
        found += (Problem(each.id, text) for text in _criterion(each, single=_single_arm(facts)))
    if scenario is not None:
        found += _leaks(rubric, answers(scenario))
    return tuple(found)


def _ranks(each: Criterion) -> Iterator[str]:
    sort, known = each.criterion_type, each.contrast
    if not sort:
        return
    if (sort == "anti_pattern") != each.penalized:
        yield "polarity penalize_when_met belongs to anti_pattern, and anti_pattern needs it"
    if known.with_skill_rank is None or known.no_skill_rank is None:
        yield f"{sort} needs the ranks of both arms"
        return
    more = known.with_skill_rank - known.no_skill_rank
    if sort == "skill_signal" and more <= 0:
        yield "skill_signal needs with_skill_rank above no_skill_rank; else it is a shared_baseline"
    if sort == "skill_signal" and known.separation == "not_separated":
        yield "skill_signal needs arm_separation separated"
    if sort == "shared_baseline" and more:
        yield "shared_baseline needs equal ranks: both arms do it"
    if sort == "shared_baseline" and known.separation == "separated":
        yield "shared_baseline cannot have arm_separation separated"
    if sort == "anti_pattern" and more > 0:
        yield "anti_pattern needs no_skill_rank at or above with_skill_rank"


def _criterion(each: Criterion, *, single: bool) -> Iterator[str]:
    if not each.criterion_type:
        yield "needs a criterion_type"
    if not each.look_for or not each.negative_anchor:
        yield "needs judge_guidance with what_to_look_for and negative_anchor"
    if not each.positive_evidence or not each.false_positives:
        yield "needs judge_guidance with positive_evidence and common_false_positives"
    if each.contrast.attribution is None:
        yield "needs skill_attribution_confidence from 0 to 1"
    if each.ladder and not any(rung.negative_anchor for rung in each.ladder):
        yield "needs one is_negative_anchor in its ladder"
    behaviours = ("no_skill_behavior",) if single else ("with_skill_behavior", "no_skill_behavior")
    for key in behaviours:
        if not each.contrast.provenance.get(key):
            yield f"needs contrast_provenance.{key}"
    hypothesized = each.contrast.provenance.get("hypothesized")
    if hypothesized is not True and hypothesized is not False:
        yield "needs contrast_provenance.hypothesized, true or false"
    if single and hypothesized is not True:
        yield "is of a single arm: hypothesized must be true"
    if single and each.contrast.separation != "not_measured":
        yield "is of a single arm: arm_separation must be not_measured"


def _set_level(facts: Mapping[str, Any]) -> Iterator[str]:
    for key in ("set_id", "task", "skill", "oracle", "source_run_pair"):
        if not facts.get(key):
            yield f"needs the key {key}"
    summary = facts.get("contrast_summary")
    if not isinstance(summary, str) or not summary.strip():
        yield "needs contrast_summary"
    else:
        if len(summary) > MAX_SUMMARY:
            yield f"contrast_summary has {len(summary)} characters; it may have {MAX_SUMMARY}"
        if summary.rstrip(". ").count(". ") >= MAX_SUMMARY_SENTENCES:
            yield f"contrast_summary may have {MAX_SUMMARY_SENTENCES} sentences"
    made = _table(facts, "generation_provenance")
    for key in ("generator_model", "generator_prompt_id", "generated_at", "method"):
        if not made.get(key):
            yield f"needs generation_provenance.{key}"
    if made.get("mandatory_abstraction_applied") is not True:
        yield "generation_provenance.mandatory_abstraction_applied must be true"
    task = _table(facts, "task")
    if task.get("harness_reward_is_trustworthy") is not False:
        yield "task.harness_reward_is_trustworthy must be false: criteria come from what was seen"
    if task.get("answer_leak_risk") not in LEAK_RISKS:
        yield f"task.answer_leak_risk must be one of {', '.join(LEAK_RISKS)}"


def _taxonomy(rubric: Rubric) -> Iterator[str]:
    entries = rubric.facts.get("category_taxonomy") or ()
    if not entries:
        yield "needs category_taxonomy"
    declared = [str(entry.get("category_id")) for entry in entries]
    used = {each.category for each in rubric.criteria}
    if spare := [name for name in declared if name in TOPICS and name not in used]:
        yield f"category_taxonomy may hold used categories only, not {', '.join(spare)}"
    if any("category_weight" not in entry for entry in entries):
        yield "category_taxonomy needs a category_weight for each"


def _confidence(rubric: Rubric) -> Iterator[str]:
    facts = rubric.facts
    known = _table(facts, "set_confidence")
    value = known.get("confidence")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        yield "needs set_confidence.confidence from 0 to 1"
        return
    sorts = {each.criterion_type for each in rubric.criteria}
    if known.get("empty_delta") is True:
        if sorts - {"shared_baseline"}:
            yield "is an empty delta: it may hold shared_baseline criteria only"
    elif not sorts & {"skill_signal", "anti_pattern"}:
        yield "tells the arms apart by nothing: set_confidence.empty_delta must be true"
    single = _single_arm(facts)
    if single:
        pair, method = _table(facts, "source_run_pair"), _table(facts, "generation_provenance")
        if pair.get("with_skill_run") is not None:
            yield "is of a single arm: source_run_pair.with_skill_run must be null"
        if method.get("method") != "single_arm_inferred":
            yield "is of a single arm: generation_provenance.method must be single_arm_inferred"
    elif not _table(facts, "source_run_pair").get("with_skill_run"):
        yield "needs source_run_pair.with_skill_run, or set_confidence.single_arm: true"
    if (single or known.get("empty_delta") is True) and value > UNMEASURED:
        yield f"has confidence {value:g}; without a measured difference it is at most {UNMEASURED}"
    risk = _table(facts, "task").get("answer_leak_risk")
    if risk == "heavy" and value > LEAKY:
        yield f"has confidence {value:g}; with a heavy answer_leak_risk it is at most {LEAKY}"
    if risk in LEAK_RISKS[1:] and not known.get("caveats"):
        yield "has an answer_leak_risk: say so in set_confidence.caveats"


def _leaks(rubric: Rubric, secrets: tuple[str, ...]) -> Iterator[Problem]:
    """Answers belong into ``contrast_provenance`` alone, in a draft also not into guidance."""
    for each in rubric.criteria:
        for place, text in guidance(each):
            for word in secrets:
                if stands(word, text):
                    yield Problem(each.id, f"its {place} gives away {word!r}")


def _single_arm(facts: Mapping[str, Any]) -> bool:
    return _table(facts, "set_confidence").get("single_arm") is True


def _table(facts: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = facts.get(key)
    return value if isinstance(value, dict) else {}
