"""Rubric files become values, or an error with file, line and key."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.scenario.load import load
from pytest_agentbench.scenario.lock import lock
from pytest_agentbench.scenario.model import Scenario, ScenarioError
from pytest_agentbench.scenario.rubric import PENALIZE, TOPICS, Rubric, Rung
from pytest_agentbench.scenario.rubric_file import load_rubric
from pytest_agentbench.scenario.rubric_form import CRITERION
from pytest_agentbench.scenario.schema import validate, validate_rubric
from tests.rubrics import LADDER, NATIVE, SCENARIO, as_json, contrasted, contrastive


def loaded(folder: Path, rubric: str, ending: str = ".rubric.yaml") -> Scenario:
    (folder / "pumps.yaml").write_text(SCENARIO)
    (folder / f"pumps{ending}").write_text(rubric)
    return load(folder / "pumps.yaml")


def read(folder: Path, rubric: str, ending: str = ".rubric.yaml") -> Rubric:
    found = loaded(folder, rubric, ending).atomic_rubric
    assert found is not None
    return found


def test_a_rubric_beside_its_scenario(tmp_path: Path) -> None:
    rubric = read(tmp_path, NATIVE)
    assert rubric.path == tmp_path / "pumps.rubric.yaml"
    assert rubric.facts == {"description": "What a good root cause report is."}
    cause, first, repairs = rubric.criteria
    assert (cause.kind, cause.category, cause.weight) == (
        "completion",
        "domain_operationalization",
        3.0,
    )
    assert cause.ladder == (
        Rung(value=0.0, statement="No cause", negative_anchor=True),
        Rung(value=0.5, statement="A cause without evidence"),
        Rung(value=1.0, statement="A cause with evidence"),
    )
    assert rubric.gatekeeper is cause
    assert first.check is not None
    assert (first.kind, first.must, first.check.id) == ("process", True, "reads_first")
    assert rubric.checks == (first.check,)
    assert (repairs.polarity, repairs.contrast.no_skill_rank) == (PENALIZE, 2)
    assert repairs.contrast.attribution == 0.7
    assert rubric.judged == {"completion": (cause,), "process": (repairs,)}


def test_a_rubric_in_its_scenario_is_the_same(tmp_path: Path) -> None:
    inner = NATIVE.replace("rubric: 1\n", "").replace("\n", "\n  ")
    path = tmp_path / "pumps.yaml"
    path.write_text(f"{SCENARIO}rubric:\n  {inner}\n")
    scenario = load(path)
    assert scenario.atomic_rubric is not None
    assert scenario.rubric is None
    beside = tmp_path / "beside"
    beside.mkdir()
    assert scenario.atomic_rubric.criteria == read(beside, NATIVE).criteria
    assert validate(yaml.safe_load(path.read_text())) == ()


def test_a_criterion_may_be_decided_by_a_check_of_the_scenario(tmp_path: Path) -> None:
    scenario = loaded(tmp_path, HEAD + GATE.replace("gatekeeper", "check: there, gatekeeper"))
    assert scenario.atomic_rubric is not None
    assert scenario.atomic_rubric.checks == scenario.checks
    alone = load_rubric(tmp_path / "pumps.rubric.yaml").criteria[0].check
    assert alone is not None
    assert alone.id == "there"


def test_the_contrastive_form(tmp_path: Path) -> None:
    rubric = read(tmp_path, as_json(contrastive()), ".rubric.json")
    assert rubric.version == "contrastive_skill_rubric.v2"
    assert [each.criterion_type for each in rubric.criteria] == [
        *("shared_baseline", "shared_baseline", "skill_signal", "skill_signal", "anti_pattern"),
    ]
    probes = rubric.criteria[2]
    assert (probes.kind, probes.look_for) == ("process", "A result that can be opened.")
    assert [rung.value for rung in probes.ladder] == [0.0, 0.5, 1.0]
    assert (probes.contrast.with_skill_rank, probes.contrast.separation) == (2, "separated")
    assert probes.contrast.provenance["with_skill_behavior"] == "Wrote a report."
    assert rubric.criteria[4].penalized
    assert rubric.facts["set_id"] == "pumps"


@pytest.mark.parametrize("topic", TOPICS.values(), ids=lambda topic: topic.name)
def test_a_category_goes_by_its_names_of_the_paper(tmp_path: Path, topic: Any) -> None:
    names = (topic.name, topic.title, topic.name.replace("_", " ").title())
    criteria = "".join(
        f"- {{id: c{n}, statement: s, category: {name}}}\n" for n, name in enumerate(names)
    )
    text = "rubric: 1\ncriteria:\n- {id: g, statement: s, category: Output structure, gatekeeper: true}\n"
    found = read(tmp_path, text + criteria).criteria[1:]
    assert {(each.category, each.kind) for each in found} == {(topic.name, topic.kind)}


GATE = "- {id: g, statement: s, category: output_discipline, gatekeeper: true}\n"
HEAD = "rubric: 1\ncriteria:\n"


def one(text: str) -> str:
    return f"{HEAD}{GATE}- {{id: a, statement: s, category: scope_discipline, {text}}}\n"


ERRORS: dict[str, tuple[str, str]] = {
    "nothing": (
        "rubric: 1\n",
        "pumps.rubric.yaml:1: `criteria` must list 1 to 200 criteria, not 0",
    ),
    "empty": (" \n", "pumps.rubric.yaml: the file is empty; a rubric needs criteria"),
    "no form": (
        "criteria: []\n",
        (
            "pumps.rubric.yaml:1: a rubric file needs `rubric: 1`, the form that this version reads, "
            "or `schema_version: contrastive_skill_rubric.v2`"
        ),
    ),
    "other version": (
        "schema_version: contrastive_skill_rubric.v1\ncriteria: []\n",
        (
            "pumps.rubric.yaml:1: `schema_version` must be contrastive_skill_rubric.v2, the form that "
            "this version reads, not 'contrastive_skill_rubric.v1'"
        ),
    ),
    "unknown key": (
        one("wieght: 2"),
        (
            "pumps.rubric.yaml:4: `criteria[1].wieght` is not a known key; did you mean `weight`? "
            "Allowed: id, statement, kind, category, weight, must, gatekeeper, ladder, look_for, "
            "positive_evidence, negative_anchor, false_positives, applies_if, criterion_type, "
            "polarity, discrimination, contrast_provenance, check"
        ),
    ),
    "no gatekeeper": (
        HEAD + GATE.replace(", gatekeeper: true", ""),
        "pumps.rubric.yaml:2: `criteria` must have exactly one with `gatekeeper: true`",
    ),
    "two gatekeepers": (
        HEAD + GATE + GATE.replace("id: g", "id: h"),
        (
            "pumps.rubric.yaml:2: `criteria` must have exactly one with `gatekeeper: true`; "
            "it has 2: g, h"
        ),
    ),
    "gatekeeper of process": (
        HEAD + GATE.replace("output_discipline", "phase_adherence"),
        "pumps.rubric.yaml:3: `criteria[0]` is the gatekeeper; it must be about completion",
    ),
    "gatekeeper that may not apply": (
        HEAD + GATE.replace("gatekeeper", "applies_if: x, gatekeeper"),
        "pumps.rubric.yaml:3: `criteria[0]` is the gatekeeper; it always applies",
    ),
    "same id": (HEAD + GATE + GATE, "pumps.rubric.yaml:4: `criteria[1]` 'g' names two criteria"),
    "category": (
        HEAD + GATE.replace("output_discipline", "durable_artefact"),
        (
            "pumps.rubric.yaml:3: `criteria[0].category` cannot be 'durable_artefact'; did you mean "
            "`durable_artifact`? Allowed: durable_artifact, output_discipline, "
            "domain_operationalization, phase_adherence, empirical_verification_loop, "
            "scope_discipline"
        ),
    ),
    "kind": (
        one("kind: completion"),
        (
            "pumps.rubric.yaml:4: `criteria[1].kind` is 'completion', and scope_discipline is a "
            "category of process"
        ),
    ),
    "ladder with a gap": (
        one("ladder: [{level: 0, statement: a}, {level: 2, statement: b}]"),
        (
            "pumps.rubric.yaml:4: `criteria[1].ladder[1]` must be level 1: levels count from 0 "
            "without a gap, not the number 2"
        ),
    ),
    "one rung": (
        one("ladder: [{level: 0, statement: a}]"),
        "pumps.rubric.yaml:4: `criteria[1].ladder[0]` is the only rung; a ladder has two or more",
    ),
    "check and ladder": (
        one(
            "check: {type: file_exists, path: a}, "
            "ladder: [{level: 0, statement: a}, {level: 1, statement: b}]"
        ),
        "pumps.rubric.yaml:4: `criteria[1].check` gives a binary verdict; a ladder needs a judge",
    ),
    "check with points": (
        one("check: {type: file_exists, path: a, points: 2}"),
        (
            "pumps.rubric.yaml:4: `criteria[1].check.points` belongs to no check of a criterion; the "
            "criterion has its own"
        ),
    ),
    "check that is none": (
        one("check: {type: file_exist, path: a}"),
        (
            "pumps.rubric.yaml:4: `criteria[1].check.type` cannot be 'file_exist'; did you mean "
            "`file_exists`? Allowed: *"
        ),
    ),
    "check of another scenario": (
        one("check: ther"),
        (
            "pumps.rubric.yaml:4: `criteria[1].check` cannot be 'ther'; did you mean `there`? "
            "Allowed: there"
        ),
    ),
    "name of a check": (
        HEAD + GATE.replace("id: g", "id: there, check: {type: file_exists, path: b}"),
        (
            "pumps.rubric.yaml:3: `criteria[0].id` has the name of a check of the scenario; "
            "say `check: there` if it is that"
        ),
    ),
    "harness owned": (
        as_json(contrastive(aggregation={})),
        "pumps.rubric.yaml:*: `aggregation` belongs to the harness since v2; remove the key",
    ),
    "undeclared category": (
        as_json(contrastive(category_taxonomy=[{"category_id": "scope_discipline"}])),
        (
            "pumps.rubric.yaml:*: `criteria[0].category_id` cannot be 'durable_artifact'; "
            "allowed: scope_discipline"
        ),
    ),
    "no binary block": (
        as_json(contrastive(contrasted("a", gatekeeper=True, scoring={"mode": "both"}))),
        "pumps.rubric.yaml:*: `criteria[0].scoring` needs the key `binary`",
    ),
    "binary block against the polarity": (
        as_json(
            contrastive(contrasted("a", gatekeeper=True, anti_pattern_polarity="penalize_when_met"))
        ),
        (
            "pumps.rubric.yaml:*: `criteria[0].scoring.binary.met_value` must be 0 for an "
            "anti-pattern with penalize_when_met"
        ),
    ),
    "graded without its mode": (
        as_json(
            contrastive(contrasted("a", gatekeeper=True, scoring={**LADDER, "mode": "binary"}))
        ),
        (
            "pumps.rubric.yaml:*: `criteria[0].scoring.mode` is 'binary', which has no use for a "
            "graded block"
        ),
    ),
    "binding anchors": (
        as_json(
            contrastive(
                contrasted(
                    "a", gatekeeper=True, contrast_provenance={"anchors": [{"binding": "exact"}]}
                )
            )
        ),
        (
            "pumps.rubric.yaml:*: `criteria[0].contrast_provenance.anchors[0]` needs "
            "`binding: illustrative_only`"
        ),
    ),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS)
def test_what_is_wrong_is_said_with_file_line_and_key(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        loaded(tmp_path, text)
    pattern = re.escape(message).replace(r":\*:", r":\d+:").replace(r"\*", ".*")
    assert re.fullmatch(pattern, str(error.value)), str(error.value)


def test_two_rubrics_are_refused(tmp_path: Path) -> None:
    loaded(tmp_path, NATIVE)
    with pytest.raises(ScenarioError, match=r"^pumps\.yaml: has the rubrics pumps\.rubric\.yaml "):
        loaded(tmp_path, as_json(contrastive()), ".rubric.json")
    (tmp_path / "pumps.rubric.json").unlink()
    inside = f"{SCENARIO}rubric:\n  criteria:\n  {GATE}"
    (tmp_path / "pumps.yaml").write_text(inside)
    message = r"`rubric` and pumps\.rubric\.yaml beside it are two rubrics; keep one$"
    with pytest.raises(ScenarioError, match=message):
        load(tmp_path / "pumps.yaml")


def test_the_policy_needs_criteria(tmp_path: Path) -> None:
    text = SCENARIO.replace("dimension: synthesis", "policy: rubric")
    (tmp_path / "pumps.yaml").write_text(text)
    message = (
        "pumps.yaml:3: `policy` 'rubric' needs criteria: at `rubric`, or in pumps.rubric.yaml "
        "beside the file"
    )
    with pytest.raises(ScenarioError) as error:
        load(tmp_path / "pumps.yaml")
    assert str(error.value) == message
    (tmp_path / "pumps.rubric.yaml").write_text(NATIVE)
    scenario = load(tmp_path / "pumps.yaml")
    assert (scenario.policy, scenario.threshold) == ("rubric", 1.0)


def test_a_rubric_alone_grades(tmp_path: Path) -> None:
    (tmp_path / "pumps.yaml").write_text(SCENARIO.partition("checks:")[0])
    (tmp_path / "pumps.rubric.yaml").write_text(NATIVE)
    assert load(tmp_path / "pumps.yaml").checks == ()


def test_the_agent_is_never_given_the_rubric(tmp_path: Path) -> None:
    (tmp_path / "pumps.yaml").write_text(SCENARIO + "workspace_files: [pumps.rubric.yaml]\n")
    (tmp_path / "pumps.rubric.yaml").write_text(NATIVE)
    message = "would show the agent 'pumps.rubric.yaml', which grades it"
    with pytest.raises(ScenarioError, match=message):
        load(tmp_path / "pumps.yaml")


def test_a_changed_rubric_changes_its_part_of_the_lock_and_no_other(tmp_path: Path) -> None:
    bare = lock(loaded(tmp_path, NATIVE))
    other = lock(loaded(tmp_path, NATIVE.replace("weight: 3", "weight: 2")))
    assert [part for part in bare if bare[part] != other[part]] == ["rubric"]


@pytest.mark.parametrize(
    "value", [yaml.safe_load(NATIVE), contrastive()], ids=["native", "contrastive"]
)
def test_the_schema_holds_for_what_loads(value: dict[str, Any]) -> None:
    assert validate_rubric(json.loads(json.dumps(value))) == ()


#: What the loader alone can know.
BEYOND_THE_SCHEMA = {
    *("check of another scenario", "name of a check"),
    *("same id", "category", "kind", "ladder with a gap", "check with points"),
    *("check that is none", "undeclared category", "binary block against the polarity"),
    *("gatekeeper of process", "gatekeeper that may not apply", "graded without its mode"),
}


@pytest.mark.parametrize("name", [name for name in ERRORS if name not in BEYOND_THE_SCHEMA])
def test_the_schema_refuses_what_the_loader_refuses(name: str) -> None:
    assert validate_rubric(yaml.safe_load(ERRORS[name][0])) != ()


HYBRID = """\
---
id: pumps
grading_type: hybrid
---

## Prompt

Say why pump 7 failed.

## Automated Checks

```python
def grade(transcript, workspace_path):
    return {"there": 1.0}
```

## LLM Judge Rubric

Is the cause named?
"""


def test_a_hybrid_has_a_rubric_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "task_pumps.md").write_text(HYBRID)
    assert load(tmp_path / "task_pumps.md").hybrid == (0.5, 0.5)
    (tmp_path / "pumps.rubric.yaml").write_text(NATIVE)
    message = "a hybrid is judged by its own text; it cannot have criteria beside it"
    with pytest.raises(ScenarioError, match=rf"^pumps\.rubric\.yaml: {message}$"):
        load(tmp_path / "task_pumps.md")


DOCS = (Path(__file__).parent.parent / "docs/rubrics.md").read_text("utf-8")


def test_the_rubric_of_the_docs_loads(tmp_path: Path) -> None:
    (text,) = re.findall(r"(?ms)^```yaml\n(rubric: 1\n.*?)^```$", DOCS)
    assert read(tmp_path, text).gatekeeper is not None


def test_every_key_and_category_is_documented() -> None:
    code = set(re.findall(r"`([^`\n]+)`", DOCS))
    assert {*CRITERION, *TOPICS} <= code
    assert all(topic.title in DOCS for topic in TOPICS.values())
