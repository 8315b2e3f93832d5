"""Tests in Python that ask a judge."""

from __future__ import annotations

import pytest

from tests.project import Project

TABLE = """\
[tool.agentbench.runtimes.clerk]
adapter = "command"
argv = ["sh", "-c", "echo 'The seal failed, as the pressure shows.' > report.md"]
[tool.agentbench.runtimes.idle]
adapter = "command"
argv = ["true"]
[tool.agentbench.models.rule]
backend = "scripted"
policy = "judge"
[tool.agentbench.models.mute]
backend = "scripted"
policy = "judge"
manner = "prose"
"""
TEST = """
def test_report(agent, rubric):
    agent.run("Say in report.md why the pump failed.")
    rubric.expect("The report names the seal that failed.")
    rubric.expect("The report gives costs of repair.", look_for="An amount.")
"""


@pytest.fixture
def asking(project: Project) -> Project:
    project.write("pyproject.toml", TABLE)
    project.write("scenarios/test_report.py", TEST)
    return project


def run(project: Project, *args: str) -> pytest.RunResult:
    return project.run("scenarios/test_report.py", "--run-dir=run", *args)


def test_a_statement_that_does_not_hold_fails_the_test(asking: Project) -> None:
    result = run(asking, "--runtime=clerk", "--judge=rule")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*the judge does not find that 'The report gives costs of repair.' holds*",
            "*expected: met*",
            "*found:    its words are not there*",
            "*judged by rule*",
        ]
    )
    (record,) = asking.records()
    rubric = record["grade"]["rubric"]
    assert [(v["id"], v["met"]) for v in rubric["verdicts"]] == [
        ("expected_1", True),
        ("expected_2", False),
    ]
    assert rubric["verdicts"][0]["quotes"] == ["The seal failed, as the pressure shows."]
    assert (rubric["completion_loose"], rubric["judges"]) == (0.5, ["rule"])
    assert rubric["usage"]["requests"] == 2


def test_who_did_nothing_is_not_judged(asking: Project) -> None:
    result = run(asking, "--runtime=idle", "--judge=rule")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*found:    the agent did nothing*"])


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ((), "rubric.expect needs a judge, and there is none; name one with --judge=NAME"),
        (("--judge=mute",), "judge mute gave no verdict on expected_1: *"),
    ],
    ids=["none", "mute"],
)
def test_without_a_verdict_it_is_no_failure_of_the_agent(
    asking: Project, judge: tuple[str, ...], message: str
) -> None:
    run(asking, "--runtime=clerk", *judge).assert_outcomes(errors=1)
    (record,) = asking.records()
    assert (record["status"], record["grade"]) == ("judge_error", None)
    pytest.LineMatcher([record["message"]]).fnmatch_lines([message])
    asked = [record["observed"]["judging"]["usage"]["requests"]] if judge else []
    assert asked == [3] * len(judge)


def test_a_wrong_use_is_an_error_of_the_test(asking: Project) -> None:
    text = TEST.replace('    agent.run("Say in report.md why the pump failed.")\n', "")
    asking.write("scenarios/test_report.py", text)
    result = run(asking, "--runtime=clerk", "--judge=rule")
    result.stdout.fnmatch_lines(["*rubric.expect is about a run of the agent's; call agent.run*"])


def test_another_judge_is_another_trial(asking: Project) -> None:
    other = TABLE + '[tool.agentbench.models.other]\nbackend = "scripted"\npolicy = "judge"\n'
    asking.write("pyproject.toml", other)
    for judge in ("rule", "other", "rule"):
        run(asking, "--runtime=clerk", f"--judge={judge}", "--accept-changes")
    assert [record["grade"]["rubric"]["judges"] for record in asking.records()] == [
        ["rule"],
        ["other"],
    ]
