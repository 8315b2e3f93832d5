"""Runs of scenarios that carry a rubric, as their author sees them."""

from __future__ import annotations

import json
import sys

import jsonschema
import pytest

from pytest_agentbench.report.report_schema import schema
from tests.project import Project, scenario_text

CHECKED = """\
rubric: 1
criteria:
- id: word_is_upper
  statement: The agent delivers the word in capitals.
  category: durable_artifact
  gatekeeper: true
  check: {type: json_path, path: out/answer.json, query: $.word, equals: LOWER}
- id: says_so
  statement: The agent reports that the work is finished.
  category: output_discipline
  check: {type: response_contains, pattern: done}
- id: looks_first
  statement: The agent reads the source before it writes.
  category: phase_adherence
  check: {type: happens_before, first: {reads: word.txt}, then: {writes: "*"}}
"""
JUDGED = CHECKED + """\
- id: is_brief
  statement: The agent delivers nothing beside the answer.
  category: output_discipline
"""  # fmt: skip


def rubric_scenario(project: Project, rubric: str, *, policy: str = "rubric") -> None:
    text = scenario_text().replace("family:", f"policy: {policy}\nfamily:")
    project.write("scenarios/shout.yaml", text.partition("checks:")[0] + SOLVED)
    project.write("scenarios/shout.rubric.yaml", rubric)


SOLVED = "solution:" + scenario_text().partition("solution:")[2].partition("probes:")[0]


def test_strict_completion_is_the_score(project: Project) -> None:
    rubric_scenario(project, CHECKED)
    project.bench("--runtime=nop", "--gate=none").assert_outcomes(passed=1, failed=1)
    grades = {record["runtime"]: record["grade"] for record in project.records()}
    right, idle = grades["oracle"], grades["nop"]
    assert (right["score"], right["capability"], right["strict"], right["passed"]) == (
        *(1.0, 1.0),
        *(True, True),
    )
    assert (right["policy"], right["threshold"], right["correctness"]) == ("rubric", 1.0, 1.0)
    assert right["rubric"]["process_strict"] == 1.0
    assert {v["id"]: (v["met"], v["source"]) for v in right["rubric"]["verdicts"]} == {
        "word_is_upper": (True, "check"),
        "says_so": (True, "check"),
        "looks_first": (True, "check"),
    }
    assert (idle["score"], idle["capability"], idle["strict"]) == (0.0, 0.0, False)
    assert idle["rubric"]["process_loose"] == 0.0


def test_one_criterion_that_fails_leaves_a_loose_score_alone(project: Project) -> None:
    rubric_scenario(project, CHECKED.replace("pattern: done", "pattern: finished"))
    result = project.bench()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*score 0.000 is below the threshold 1*",
            "*completion loose 0.500, strict 0.000; process loose 1.000, strict 1.000; gated 0.500*",
            '*✗ says_so (completion) does not hold: not found: [[]"finished"[]]*',
        ]
    )
    report = json.loads((project.path / "run/report.json").read_text())
    jsonschema.validate(report, schema())
    (trial,) = report["trials"]
    assert [each["id"] for each in trial["grade"]["rubric"]["missed"]] == ["says_so"]
    argv = (sys.executable, "-m", "pytest_agentbench.cli", "show", "run", trial["key"][:9])
    project.pytester.run(*argv).stdout.fnmatch_lines(
        [
            "rubric",
            "  completion loose 0.500, strict 0.000; process loose 1.000, strict 1.000; gated 0.500",
            "  Inspectable deliverable  loose 1.000, strict 1 (of 1)",
            "  Output structure         loose 0.000, strict 0 (of 1)",
            "  Workflow adherence       loose 1.000, strict 1 (of 1)",
            "  ✓ word_is_upper (completion, gatekeeper) holds",
        ]
    )
    (record,) = project.records()
    grade = record["grade"]
    assert (grade["score"], grade["capability"], grade["loose"]) == (0.0, 0.5, 0.5)
    assert [v["reason"] for v in grade["rubric"]["verdicts"] if not v["met"]] == [
        'not found: ["finished"]'
    ]


def test_without_a_judge_what_a_judge_decides_has_no_score(project: Project) -> None:
    rubric_scenario(project, JUDGED)
    result = project.bench()
    result.assert_outcomes(errors=1)
    (record,) = project.records()
    assert (record["status"], record["grade"]) == ("judge_error", None)
    assert record["message"].startswith(
        "scenario shout: 1 criteria of its rubric are a judge's, and there is no judge"
    )


@pytest.mark.parametrize("rubric", [CHECKED, JUDGED], ids=["checked", "judged"])
def test_beside_another_policy_a_rubric_changes_no_score(project: Project, rubric: str) -> None:
    project.scenario()
    project.bench("--run-dir=bare").assert_outcomes(passed=1)
    project.write("scenarios/shout.rubric.yaml", rubric)
    project.bench("--run-dir=run").assert_outcomes(passed=1)
    (bare,), (record,) = project.records("bare"), project.records()
    found = record["grade"].pop("rubric")
    assert bare["grade"].pop("rubric") is None
    assert record["grade"] == bare["grade"]
    assert found["process_loose"] == 1.0
    assert found["completion_loose"] == (1.0 if rubric is CHECKED else None)
    assert ("there is no judge" in found["message"]) == (rubric is JUDGED)


def test_lint_names_what_a_rubric_gives_away_and_what_the_solution_fails(
    project: Project,
) -> None:
    project.write("scenarios/shout.yaml", scenario_text())
    rubric = CHECKED.replace("the word in capitals", "LOWER in answer.json")
    project.write(
        "scenarios/shout.rubric.yaml",
        rubric.replace('first: {reads: word.txt}, then: {writes: "*"}', FLIPPED),
    )
    project.write("scenarios/shuot.rubric.yaml", CHECKED)
    argv = (sys.executable, "-m", "pytest_agentbench.cli", "lint", "scenarios")
    result = project.pytester.run(*argv)
    result.stdout.fnmatch_lines(
        [
            "  rubric: word_is_upper: its statement names a file name ('answer.json'); say what *",
            "  rubric: word_is_upper: its statement gives away 'answer.json', which the scenario holds",
            "  rubric: word_is_upper: its statement gives away 'LOWER', which the scenario holds",
            "  rubric: solution fails looks_first: *",
            "scenarios/shuot.rubric.yaml: 1 findings",
            "  rubric: no scenario beside it has the id that it is named for",
        ]
    )
    assert result.ret == 1


FLIPPED = 'first: {writes: "*"}, then: {reads: word.txt}'


def test_published_scoring_leaves_a_native_rubric_what_it_is(project: Project) -> None:
    rubric_scenario(project, CHECKED)
    project.bench("--scoring=published").assert_outcomes(passed=1)
    (record,) = project.records()
    assert (record["grade"]["policy"], record["grade"]["score"]) == ("rubric", 1.0)
