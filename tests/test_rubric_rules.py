"""Rules of wording and of contrast, one broken at a time."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.scenario.load import load
from pytest_agentbench.scenario.model import Scenario, ScenarioError
from pytest_agentbench.scenario.rubric import Rubric
from pytest_agentbench.scenario.rubric_contrast import draft_problems
from pytest_agentbench.scenario.rubric_file import load_rubric
from pytest_agentbench.scenario.rubric_wording import answers, wording
from tests.project import scenario_text
from tests.rubrics import ANTI, LADDER, NATIVE, SIGNAL, contrasted, contrastive


def rubric(folder: Path, value: dict[str, Any] | str) -> Rubric:
    path = folder / "x.rubric.yaml"
    path.write_text(value if isinstance(value, str) else yaml.safe_dump(value, sort_keys=False))
    return load_rubric(path)


def with_statement(folder: Path, text: str) -> Rubric:
    return rubric(folder, contrastive(contrasted("a", gatekeeper=True, statement=text)))


@pytest.fixture
def shout(tmp_path: Path) -> Scenario:
    path = tmp_path / "shout.yaml"
    path.write_text(scenario_text().replace("equals: LOWER", "equals: 1234.5"))
    return load(path)


@pytest.mark.parametrize(
    "text",
    [
        "The agent weighs pros and cons before/after the change.",
        "The agent reads every input and/or asks for what is missing.",
        "The agent names at least 2 causes, e.g. wear.",
        f"The agent {'does ' * 27}it.",
    ],
)
def test_a_good_statement(tmp_path: Path, text: str) -> None:
    assert list(wording(with_statement(tmp_path, text))) == []


WORDINGS = {
    "It reads the log.": "its statement must start with 'The agent'",
    f"The agent {'does ' * 28}it.": "its statement has 31 words; it may have 30",
    "The agent " + "x" * 400: "its statement has 410 characters; it may have 400",
    "The agent reads the log. It then writes.": (
        "its statement is more than one sentence; a criterion is about one behaviour"
    ),
    "The agent reads `log` first.": "its statement names a backtick ('`')",
    "The agent reads pump.log first.": "its statement names a file name ('pump.log')",
    "The agent writes a .csv of it.": "its statement names a file name ('.csv')",
    "The agent looks into src/pump/log.": "its statement names a path ('c/pump/l')",
    "The agent never opens /etc.": "its statement names a path ('/e')",
    "The agent mends line 12.": "its statement names a line number ('line 12')",
    "The agent mends pump:12.": "its statement names a line number ('p:12')",
    "The agent repeats Response-3.": "its statement names a numbered response ('Response-3')",
}


@pytest.mark.parametrize(("text", "problem"), WORDINGS.items())
def test_what_a_statement_may_not_say(tmp_path: Path, text: str, problem: str) -> None:
    found = [str(each) for each in wording(with_statement(tmp_path, text))]
    assert found
    assert found[0].startswith(f"a: {problem}")


def test_statements_give_no_answer_and_no_file_of_the_scenario_away(
    tmp_path: Path, shout: Scenario
) -> None:
    assert answers(shout) == ("1234.5", "1,234.5", "1234.50", "1,234.50")
    told = with_statement(tmp_path, "The agent delivers 1,234.50 in the answer.")
    assert [str(each) for each in wording(told, shout)] == [
        "a: its statement gives away '1,234.50', which the scenario holds"
    ]
    text = NATIVE.replace("The cause, and", "It is 1,234.50, and")
    assert list(wording(rubric(tmp_path, text), shout)) == []
    told = rubric(
        tmp_path, contrastive(contrasted("a", gatekeeper=True, negative_anchor="", **GIVEN))
    )
    found = {str(each) for each in draft_problems(told, shout)}
    assert "a: its look_for gives away '1234.5'" in found


GIVEN = {
    "judge_guidance": {
        "what_to_look_for": "The figure 1234.5 is there.",
        "positive_evidence": ["It is."],
        "negative_anchor": "It is not.",
        "common_false_positives": ["Another figure."],
    }
}


def test_guidance_names_no_specifics_of_a_run(tmp_path: Path) -> None:
    text = NATIVE.replace("A cause is guessed.", "As in line 4 of old.log.")
    assert [str(each) for each in wording(rubric(tmp_path, text))] == [
        "right_cause: its negative_anchor names a file name ('old.log'); say what to look for",
        "right_cause: its negative_anchor names a line number ('line 4'); say what to look for",
    ]


def test_a_draft_that_keeps_every_rule(tmp_path: Path) -> None:
    assert draft_problems(rubric(tmp_path, contrastive())) == ()


def changed(key: str, **values: Any) -> dict[str, Any]:
    """The good draft with values of one of its tables changed; None removes one."""
    table = {**contrastive()[key], **values}
    return contrastive(**{key: {k: v for k, v in table.items() if v is not None}})


def one_of(**values: Any) -> dict[str, Any]:
    """The good draft with one more criterion, called x."""
    good = contrastive()["criteria"]
    return contrastive(*good, contrasted("x", **values))


NOT = {"with_skill_rank": 1, "no_skill_rank": 1, "arm_separation": "not_separated"}
SINGLE = {"confidence": 0.4, "single_arm": True, "empty_delta": False, "caveats": []}
RULES: dict[str, tuple[dict[str, Any], str]] = {
    "inflated baseline": (
        one_of(**SIGNAL | {"discrimination": NOT}),
        "x: skill_signal needs with_skill_rank above no_skill_rank; else it is a shared_baseline",
    ),
    "signal that does not separate": (
        one_of(**SIGNAL | {"discrimination": {**NOT, "with_skill_rank": 2}}),
        "x: skill_signal needs arm_separation separated",
    ),
    "unequal baseline": (
        one_of(discrimination={**NOT, "no_skill_rank": 0}),
        "x: shared_baseline needs equal ranks: both arms do it",
    ),
    "separated baseline": (
        one_of(discrimination={**NOT, "arm_separation": "separated"}),
        "x: shared_baseline cannot have arm_separation separated",
    ),
    "anti-pattern of the skill": (
        one_of(**ANTI | {"discrimination": {"with_skill_rank": 2, "no_skill_rank": 0}}),
        "x: anti_pattern needs no_skill_rank at or above with_skill_rank",
    ),
    "anti-pattern without polarity": (
        one_of(criterion_type="anti_pattern"),
        "x: polarity penalize_when_met belongs to anti_pattern, and anti_pattern needs it",
    ),
    "no ranks": (one_of(discrimination={}), "x: shared_baseline needs the ranks of both arms"),
    "no type": (one_of(criterion_type=None), "x: needs a criterion_type"),
    "no guidance": (
        one_of(judge_guidance={}),
        "x: needs judge_guidance with what_to_look_for and negative_anchor",
    ),
    "no evidence": (
        one_of(judge_guidance={"what_to_look_for": "a", "negative_anchor": "b"}),
        "x: needs judge_guidance with positive_evidence and common_false_positives",
    ),
    "no attribution": (
        one_of(skill_attribution_confidence=None),
        "x: needs skill_attribution_confidence from 0 to 1",
    ),
    "ladder without its foot": (
        one_of(
            scoring={
                **LADDER,
                "graded": {
                    "ladder": [{"level": 0, "descriptor": "a"}, {"level": 1, "descriptor": "b"}]
                },
            }
        ),
        "x: needs one is_negative_anchor in its ladder",
    ),
    "no provenance": (
        one_of(contrast_provenance={}),
        "x: needs contrast_provenance.with_skill_behavior",
    ),
    "not said whether it was seen": (
        one_of(contrast_provenance={"with_skill_behavior": "a", "no_skill_behavior": "b"}),
        "x: needs contrast_provenance.hypothesized, true or false",
    ),
    "no set": (contrastive(set_id=""), "needs the key set_id"),
    "no summary": (contrastive(contrast_summary=" "), "needs contrast_summary"),
    "long summary": (
        contrastive(contrast_summary="x" * 601),
        "contrast_summary has 601 characters; it may have 600",
    ),
    "chatty summary": (
        contrastive(contrast_summary="One. Two. Three."),
        "contrast_summary may have 2 sentences",
    ),
    "no generator": (
        changed("generation_provenance", generator_model=None),
        "needs generation_provenance.generator_model",
    ),
    "not abstracted": (
        changed("generation_provenance", mandatory_abstraction_applied=False),
        "generation_provenance.mandatory_abstraction_applied must be true",
    ),
    "trusts the reward": (
        changed("task", harness_reward_is_trustworthy=True),
        "task.harness_reward_is_trustworthy must be false: criteria come from what was seen",
    ),
    "no leak risk": (
        changed("task", answer_leak_risk="some"),
        "task.answer_leak_risk must be one of none, low, moderate, heavy",
    ),
    "leak without caveat": (
        changed("task", answer_leak_risk="low"),
        "has an answer_leak_risk: say so in set_confidence.caveats",
    ),
    "sure in spite of a leak": (
        changed("task", answer_leak_risk="heavy"),
        "has confidence 0.8; with a heavy answer_leak_risk it is at most 0.6",
    ),
    "spare category": (
        contrastive(
            category_taxonomy=[
                {"category_id": name, "category_weight": 1}
                for name in [
                    *("durable_artifact", "output_discipline", "domain_operationalization"),
                    *("phase_adherence", "empirical_verification_loop", "scope_discipline"),
                ]
            ]
        ),
        "category_taxonomy may hold used categories only, not domain_operationalization",
    ),
    "no taxonomy": (contrastive(category_taxonomy=[]), "needs category_taxonomy"),
    "no weights": (
        contrastive(
            contrasted("a", gatekeeper=True),
            category_taxonomy=[{"category_id": "durable_artifact"}],
        ),
        "category_taxonomy needs a category_weight for each",
    ),
    "no confidence": (
        changed("set_confidence", confidence=None),
        "needs set_confidence.confidence from 0 to 1",
    ),
    "empty delta with a signal": (
        changed("set_confidence", empty_delta=True, confidence=0.5),
        "is an empty delta: it may hold shared_baseline criteria only",
    ),
    "sure of an empty delta": (
        contrastive(
            contrasted("a", gatekeeper=True),
            set_confidence={"confidence": 0.6, "empty_delta": True},
        ),
        "has confidence 0.6; without a measured difference it is at most 0.5",
    ),
    "no delta": (
        contrastive(contrasted("a", gatekeeper=True)),
        "tells the arms apart by nothing: set_confidence.empty_delta must be true",
    ),
    "single arm with two runs": (
        contrastive(set_confidence=SINGLE),
        "is of a single arm: source_run_pair.with_skill_run must be null",
    ),
    "single arm, measured": (
        contrastive(set_confidence=SINGLE),
        "verdict: is of a single arm: arm_separation must be not_measured",
    ),
    "single arm, seen": (
        contrastive(set_confidence=SINGLE),
        "verdict: is of a single arm: hypothesized must be true",
    ),
    "single arm by another method": (
        contrastive(set_confidence=SINGLE),
        "is of a single arm: generation_provenance.method must be single_arm_inferred",
    ),
    "sure of a single arm": (
        contrastive(set_confidence=SINGLE | {"confidence": 0.9}),
        "has confidence 0.9; without a measured difference it is at most 0.5",
    ),
    "one run": (
        contrastive(source_run_pair={"no_skill_run": "b"}),
        "needs source_run_pair.with_skill_run, or set_confidence.single_arm: true",
    ),
}


@pytest.mark.parametrize(("draft", "problem"), RULES.values(), ids=RULES)
def test_each_rule_of_a_draft(tmp_path: Path, draft: dict[str, Any], problem: str) -> None:
    criteria = [{k: v for k, v in each.items() if v is not None} for each in draft["criteria"]]
    found = [str(each) for each in draft_problems(rubric(tmp_path, draft | {"criteria": criteria}))]
    assert problem in found


def test_a_single_arm_that_says_so(tmp_path: Path) -> None:
    unmeasured = {
        "discrimination": {
            "with_skill_rank": 1,
            "no_skill_rank": 0,
            "arm_separation": "not_measured",
        },
        "contrast_provenance": {"no_skill_behavior": "Guessed.", "hypothesized": True},
    }
    equal = {"discrimination": {**unmeasured["discrimination"], "no_skill_rank": 1}}
    draft = contrastive(
        contrasted("a", gatekeeper=True, **unmeasured | equal),
        contrasted("b", **SIGNAL | unmeasured),
        source_run_pair={"with_skill_run": None, "no_skill_run": "b"},
        set_confidence=SINGLE,
    )
    draft["generation_provenance"]["method"] = "single_arm_inferred"
    assert draft_problems(rubric(tmp_path, draft)) == ()


def test_a_native_rubric_is_no_draft(tmp_path: Path) -> None:
    found = [str(each) for each in draft_problems(rubric(tmp_path, NATIVE))]
    assert "a draft has `schema_version: contrastive_skill_rubric.v2`" in found


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in ``value``."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*at, key)
        if isinstance(item, dict | list):
            yield from places(item, (*at, key))


PLACES = list(places(contrastive()))


@given(at=st.sampled_from(PLACES), instead=JSON)
def test_whatever_stands_in_a_file_is_loaded_or_refused(
    tmp_path_factory: pytest.TempPathFactory, at: tuple[Any, ...], instead: Any
) -> None:
    value = copy.deepcopy(contrastive())
    inner: Any = value
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = instead
    folder = tmp_path_factory.mktemp("any")
    path = folder / "x.rubric.yaml"
    path.write_bytes(json.dumps(value).encode())
    try:
        told = [str(problem) for problem in draft_problems(load_rubric(path))]
    except ScenarioError as error:
        told = [str(error).removeprefix("x.rubric.yaml:")]
    assert all(told)
