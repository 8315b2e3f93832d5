"""What a person sees of whole runs, with and without workers."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET

import pytest

from tests.project import Project, scenario_text

FAULTY = """
import pytest
from pytest_agentbench.status import Status, TrialFault

@pytest.fixture
def runtime(trial, runtime):
    if trial.index == 2:
        raise TrialFault(Status.PROVIDER_ERROR, "the provider answered 503")
    return runtime
"""

#: An agent of one request, as people write it in any language.
ASKS = """
import json, os, urllib.request

say = {"role": "user", "content": "Go."}
tool = {"name": "read", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}
asked = {"model": "any", "messages": [say], "tools": [{"type": "function", "function": tool}]}
request = urllib.request.Request(
    os.environ["LLM_URL"] + "/v1/chat/completions",
    json.dumps(asked).encode(),
    {"Authorization": "Bearer " + os.environ["LLM_KEY"], "Content-Type": "application/json"},
)
print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
"""
GREETING = """
agentbench: 1
id: greet
dimension: tool_use
difficulty: easy
prompt: Say good morning.
checks: [{id: said, type: response_contains, pattern: good morning}]
solution: [{say: good morning}]
"""


def test_oracle_passes_and_nop_fails_in_one_invocation(
    project: Project, workers: list[str]
) -> None:
    result = project.bench("--runtime=nop", "--trials=2", *workers)
    result.assert_outcomes(passed=2, failed=2)
    assert result.ret == 1
    assert project.records()[0]["observed"]["pytest"] == pytest.__version__
    by_runtime = {r["runtime"]: r["grade"]["score"] for r in project.records()}
    assert by_runtime == {"oracle": 1.0, "nop": 0.0}
    report = json.loads((project.path / "run" / "report.json").read_text())
    assert len(report["rows"]) == 2


def test_an_infrastructure_fault_is_an_error_and_no_score(
    project: Project, workers: list[str]
) -> None:
    project.write("conftest.py", FAULTY)
    result = project.bench("--trials=3", "--junitxml=j.xml", *workers)
    result.assert_outcomes(passed=2, errors=1)
    assert result.ret == 1
    faults = [r for r in project.records() if r["status"] == "provider_error"]
    assert [(r["index"], r["grade"]) for r in faults] == [(2, None)]
    suite = ET.parse(project.path / "j.xml").getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    result.stdout.fnmatch_lines(["the provider answered 503"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_gate_none_passes_whatever_the_trials_do(project: Project, workers: list[str]) -> None:
    project.write("conftest.py", FAULTY)
    result = project.bench("--trials=3", "--gate=none", *workers, runtime="nop")
    result.assert_outcomes(failed=2, errors=1)
    assert result.ret == 0


def test_gate_none_does_not_hide_other_failures(project: Project, workers: list[str]) -> None:
    project.write("scenarios/test_own.py", "def test_own(): assert False")
    assert project.bench("--gate=none", *workers).ret == 1


def test_a_broken_fixture_is_a_harness_error(project: Project) -> None:
    project.write(
        "conftest.py",
        "import pytest\n@pytest.fixture\ndef skills(): raise ValueError('no skills here')\n",
    )
    project.bench().assert_outcomes(errors=1)
    (record,) = project.records()
    assert record["status"] == "harness_error"
    assert record["message"] == "ValueError: no skills here"


def test_a_missing_capability_is_a_skip_with_the_reason(
    project: Project, workers: list[str]
) -> None:
    path = project.path / "scenarios" / "shout.yaml"
    path.write_text(path.read_text() + "requires: [browser]\n")
    result = project.bench("-rs", *workers)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*oracle lacks browser, which the scenario requires*"])
    assert [r["status"] for r in project.records()] == ["unsupported"]


def test_a_scenario_without_a_solution_is_a_skip_for_the_oracle(
    project: Project, workers: list[str]
) -> None:
    text = scenario_text()
    project.write("scenarios/shout.yaml", text[: text.index("solution:")])
    result = project.bench("-rs", *workers)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*oracle needs a solution: shout.yaml has no 'solution'*"])
    assert result.ret == 0
    assert [r["status"] for r in project.records()] == ["unsupported"]


def test_a_missing_runtime_is_told_once_by_exit_code_11(
    project: Project, workers: list[str]
) -> None:
    project.write(
        "pyproject.toml",
        "[tool.agentbench.runtimes.ghost]\nadapter = 'command'\nargv = ['no-such-agent']\n"
        "install = 'pip install no-such-agent'\n",
    )
    result = project.bench(*workers, runtime="ghost")
    result.assert_outcomes(errors=1)
    assert result.ret == 11
    result.stdout.fnmatch_lines(["*pip install no-such-agent*"])


def test_a_failure_shows_the_checks_and_no_code_of_ours(project: Project) -> None:
    result = project.bench(runtime="nop")
    result.stdout.fnmatch_lines(
        ["score 0.000 is below the threshold 0.6", "✗ word: 0 of 1: *out/answer.json*"]
    )
    result.stdout.no_fnmatch_line("*collect.py*")


def test_every_trial_is_closed_once_after_it_is_graded(
    project: Project, workers: list[str]
) -> None:
    project.bench("--trials=4", *workers)
    lines = project.lines()
    for key in {line["key"] for line in lines}:
        assert [line["event"] for line in lines if line["key"] == key] == ["graded", "closed"]
    assert [line["survivors"] for line in lines if line["event"] == "closed"] == [[]] * 4


def test_junit_and_json_report_carry_the_fields(project: Project, workers: list[str]) -> None:
    project.bench(
        "--junitxml=j.xml", "--json-report", "--json-report-file=r.json", *workers
    ).assert_outcomes(passed=1)
    properties = {
        p.get("name"): p.get("value") for p in ET.parse(project.path / "j.xml").iter("property")
    }
    assert properties["agentbench.score"] == "1.0"
    assert "None" not in properties.values()  # oracle has no tokens, and they cost nothing known
    assert properties["agentbench.status"] == "completed"
    (test,) = json.loads((project.path / "r.json").read_text())["tests"]
    assert test["metadata"]["agentbench"]["score"] == 1.0


def test_fixtures_can_be_overridden_at_each_level(project: Project) -> None:
    project.write(
        "scenarios/conftest.py",
        """
import pytest

@pytest.fixture
def workspace(workspace):
    (workspace / "out").mkdir()
    (workspace / "out" / "answer.json").write_text('{"word": "LOWER"}')
    return workspace
""",
    )
    project.bench(runtime="nop").assert_outcomes(failed=1)
    (record,) = project.records()
    assert {c["id"]: c["passed"] for c in record["grade"]["checks"]}["word"]


STANDS_IN = """
import pytest
from pytest_agentbench.execution import Execution
from pytest_agentbench.status import Status

@pytest.fixture
def execution({uses}):
    return Execution(status=Status.COMPLETED)
"""


def test_execution_can_be_stood_in_for_with_what_grading_needs(project: Project) -> None:
    project.write("conftest.py", STANDS_IN.format(uses="workspace, sandbox"))
    project.bench().assert_outcomes(failed=1)
    assert [r["grade"]["score"] for r in project.records()] == [0.0]
    project.write("conftest.py", STANDS_IN.format(uses="workspace"))
    project.bench("--trials=2").assert_outcomes(failed=1, errors=1)
    assert project.records()[-1]["message"] == (
        "nothing can be graded without the fixtures workspace and sandbox: a fixture that stands "
        "in for execution must use both"
    )


def test_the_header_says_sandbox_and_folder(project: Project) -> None:
    result = project.bench()
    result.stdout.fnmatch_lines(
        [
            "agentbench: runtimes oracle; modes baseline; trials 1",
            "agentbench: sandbox bwrap (auto; strongest that works)",
            "agentbench: run folder run",
        ]
    )


@pytest.mark.parametrize("count", ["2", "5"])
def test_rest_items_show_in_no_report(project: Project, count: str) -> None:
    result = project.bench("--trials=3", "-n", count, "-v", "--junitxml=j.xml")
    result.assert_outcomes(passed=3)
    assert len(list(ET.parse(project.path / "j.xml").iter("testcase"))) == 3


def test_setup_and_teardown_scripts_run_in_the_workspace(project: Project) -> None:
    path = project.path / "scenarios" / "shout.yaml"
    path.write_text(path.read_text() + "setup_script: up.sh\nteardown_script: down.sh\n")
    project.write("scenarios/up.sh", "echo made > made.txt\n")
    project.write("scenarios/down.sh", "cat made.txt >&2; exit 3\n")
    project.bench().assert_outcomes(passed=1)
    closed = [line for line in project.lines() if line["event"] == "closed"]
    assert closed[0]["survivors"] == ["teardown script down.sh of shout: exit 3\nmade"]


def test_a_setup_script_that_fails_is_a_harness_error(project: Project) -> None:
    path = project.path / "scenarios" / "shout.yaml"
    path.write_text(path.read_text() + "setup_script: up.sh\n")
    project.write("scenarios/up.sh", "exit 4\n")
    result = project.bench()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["setup script up.sh of shout: exit 4"])
    assert [r["status"] for r in project.records()] == ["harness_error"]


def test_the_scoreboard_says_that_the_model_is_scripted(
    project: Project, workers: list[str]
) -> None:
    result = project.bench("--model=scripted", "--trials=2", *workers, runtime="minimal")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["minimal · scripted · baseline*the model is a script*"])
    assert {r["scripted"] for r in project.records()} == {True}


def test_any_program_reaches_its_model_through_the_harness(
    project: Project, workers: list[str]
) -> None:
    argv = [sys.executable, "-c", ASKS]
    project.write(
        "pyproject.toml",
        f"[tool.agentbench.runtimes.mine]\nadapter = 'command'\nargv = {json.dumps(argv)}\n"
        'env = {LLM_URL = "{url}", LLM_KEY = "{token}"}\n',
    )
    project.write("scenarios/greet.yaml", GREETING)
    project.bench("-k", "greet", "--model=scripted", *workers, runtime="mine").assert_outcomes(
        passed=1
    )
    (record,) = project.records()
    assert (record["model"], record["grade"]["score"]) == ("scripted", 1.0)
    assert record["usage"]["requests"] == 1
