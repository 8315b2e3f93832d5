"""Scenarios written as plain Python tests, with the same fixtures."""

from __future__ import annotations

import fnmatch
import json
import xml.etree.ElementTree as ET

import pytest

from tests.project import Project

TEST = """
import pytest

@pytest.mark.agentbench(dimension="planning", difficulty="hard", weight=2)
def test_notes(agent, workspace):
    (workspace / "log.txt").write_text("Fixed the clock")
    run = agent.run("Write CHANGES.md from log.txt")
    assert run.status == "completed"
    workspace.expect_file("CHANGES.md").contains("Fixed")
"""
COPY = """
[tool.agentbench.runtimes.copier]
adapter = "command"
argv = ["cp", "log.txt", "CHANGES.md"]
[tool.agentbench.runtimes.idle]
adapter = "command"
argv = ["true"]
"""
SILENT = """
[tool.agentbench.runtimes.silent]
adapter = "command"
argv = ["true"]
calls_model = true
"""


def test_a_python_test_is_a_trial_of_every_runtime(project: Project, workers: list[str]) -> None:
    project.write("pyproject.toml", COPY)
    project.write("scenarios/test_notes.py", TEST)
    result = project.run(
        "scenarios/test_notes.py",
        "--runtime=copier",
        "--runtime=idle",
        "--trials=2",
        "--run-dir=run",
        *workers,
    )
    result.assert_outcomes(passed=2, failed=2)
    records = project.records()
    assert {(r["runtime"], r["grade"]["score"]) for r in records} == {
        ("copier", 1.0),
        ("idle", 0.0),
    }
    assert {r["scenario"]["id"] for r in records} == {"scenarios.test_notes.test_notes"}
    assert {r["scenario"]["dimension"] for r in records} == {"planning"}


def test_a_fault_in_a_python_test_is_an_error(project: Project, workers: list[str]) -> None:
    project.write(
        "scenarios/test_notes.py",
        """
from pytest_agentbench.status import Status, TrialFault

def test_notes(agent):
    raise TrialFault(Status.PROVIDER_ERROR, "the provider answered 503")
""",
    )
    result = project.run(
        "scenarios/test_notes.py", "--runtime=oracle", "--run-dir=run", "--junitxml=j.xml", *workers
    )
    result.assert_outcomes(errors=1)
    assert [r["status"] for r in project.records()] == ["provider_error"]
    assert 'errors="1"' in (project.path / "j.xml").read_text()


def test_without_a_runtime_the_test_says_what_to_give(project: Project) -> None:
    project.write("pyproject.toml", COPY)
    project.write("scenarios/test_notes.py", TEST)
    result = project.run("scenarios/test_notes.py")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no runtime was asked for; give --runtime=NAME*"])


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("wieght=2", "`wieght` is not a known key; did you mean `weight`? Allowed: name, dime*"),
        ('dimension="foo"', "`dimension` cannot be 'foo'; allowed: tool_use, planning, *"),
        ('difficulty="hardest"', "`difficulty` cannot be 'hardest'; did you mean `hard`? *"),
        ("weight=-1", "`weight` must be a number above 0 and at most 1000, not -1"),
        ('timeout_seconds="soon"', "`timeout_seconds` must be a number above 0 *, not 'soon'"),
        ("timeout_seconds=1j", "`timeout_seconds` must be *, not a value of type complex"),
        ('requires=["netwrk"]', "`requires[[]0]` cannot be 'netwrk'; did you mean `network`? *"),
        ('requires="network"', "`requires` must be a list, not 'network'"),
        ('family="skip"', "`family` cannot be a family: 'skip' is reserved: *"),
        ('"planning"', 'give facts by name, as in agentbench(dimension="planning")'),
    ],
)
def test_a_wrong_fact_in_the_mark_is_told_as_in_a_file(
    project: Project, facts: str, message: str
) -> None:
    text = TEST.replace('dimension="planning", difficulty="hard", weight=2', facts)
    project.write("scenarios/test_notes.py", text)
    result = project.run("scenarios/test_notes.py", "--runtime=oracle")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [f"*scenarios/test_notes.py::test_notes: mark agentbench: {message}"]
    )


def test_facts_in_the_mark_are_those_of_a_file(project: Project) -> None:
    project.write("pyproject.toml", COPY)
    facts = 'family="two words", requires=("network",), timeout_seconds=20, weight=2'
    text = TEST.replace('dimension="planning", difficulty="hard", weight=2', facts)
    project.write("scenarios/test_notes.py", text)
    project.run("scenarios/test_notes.py", "--runtime=copier", "--run-dir=run")
    [record] = project.records()
    assert (record["scenario"]["family"], record["scenario"]["weight"]) == ("two_words", 2.0)
    assert (record["status"], record["message"]) == (
        "unsupported",
        "copier lacks network, which the scenario requires",
    )


@pytest.mark.parametrize(
    ("test", "status"),
    [
        ("def test_x(trial):\n    time.sleep(9)\n", "harness_error"),
        (
            "def test_x(agent):\n    with pytest.raises(TrialFault):\n        agent.run('x')\n",
            "empty_trace",
        ),
        ("def test_x(trial):\n    raise OSError(errno.ENOSPC, 'full')\n", "no_space"),
    ],
    ids=["stopped", "caught", "full disk"],
)
def test_what_is_no_verdict_is_shown_as_an_error(
    project: Project, workers: list[str], test: str, status: str
) -> None:
    project.write(
        "pyproject.toml", COPY + "[tool.agentbench.defaults]\nmax_attempts = 1\n" + SILENT
    )
    project.write(
        "scenarios/test_x.py",
        "import errno, time, pytest\nfrom pytest_agentbench.status import TrialFault\n"
        f"@pytest.mark.timeout(1)\n{test}",
    )
    result = project.run("scenarios/test_x.py", "--runtime=silent", "--run-dir=run", *workers)
    result.assert_outcomes(errors=1)
    assert [(r["status"], r["grade"]) for r in project.records()] == [(status, None)]


NO_AGENT = """\
no agent was run, so there is nothing to score: call agent.run(PROMPT) in the test, or let it take \
the fixture execution"""


@pytest.mark.parametrize(
    ("test", "more"),
    [
        ("def test_x(workspace):\n    pass\n", ""),
        ("def test_x(agent):\n    pass\n", ""),
        (
            "def test_x(agent):\n    assert agent is None, 'odd'\n",
            "; before that, it raised AssertionError: odd*assert <agent nop of *test_x> is None",
        ),
    ],
    ids=["no agent", "not run", "fails before"],
)
def test_without_an_agent_there_is_no_score(
    project: Project, workers: list[str], test: str, more: str
) -> None:
    project.write("scenarios/test_x.py", test)
    result = project.run("scenarios/test_x.py", "--runtime=nop", "--run-dir=run", *workers)
    result.assert_outcomes(errors=1)
    [record] = project.records()
    assert (record["status"], record["grade"]) == ("checker_error", None)
    assert fnmatch.fnmatchcase(record["message"], NO_AGENT + more)
    result.stdout.fnmatch_lines([f"*{NO_AGENT[:60]}*"])


PARAMETRISED = """
import pytest

@pytest.mark.parametrize("word", ["yes", "no"])
def test_say(agent, word):
    agent.run("Say it.")
    assert word == "yes"

@pytest.fixture(params=["a", "b"])
def letter(request):
    return request.param

class TestLetters:
    def test_letter(self, agent, letter):
        agent.run("Write it.")
        assert letter == "a"

def test_plain(execution):
    assert execution.status == "completed"
"""


def test_every_parametrised_test_is_a_scenario_of_its_own(
    project: Project, workers: list[str]
) -> None:
    project.write(
        "pyproject.toml", f"[tool.pytest.ini_options]\naddopts = '--import-mode=importlib'\n{COPY}"
    )
    project.write("one/test_say.py", PARAMETRISED)
    project.write("two/test_say.py", PARAMETRISED)
    args = ["one", "two", "--runtime=nop", "--runtime=idle", "--run-dir=run", *workers]
    project.run(*args).assert_outcomes(passed=12, failed=8)
    records = project.records()
    assert len({r["key"] for r in records}) == 20
    assert {r["scenario"]["id"]: r["grade"]["score"] for r in records} == {
        f"{folder}.test_say.{name}": score
        for folder in ("one", "two")
        for name, score in {
            "test_say[yes]": 1.0,
            "test_say[no]": 0.0,
            "TestLetters.test_letter[a]": 1.0,
            "TestLetters.test_letter[b]": 0.0,
            "test_plain": 1.0,
        }.items()
    }
    assert len(json.loads((project.path / "run" / "plan.json").read_text())["trials"]) == 20


def test_text_that_is_no_unicode_hurts_nobody(project: Project, workers: list[str]) -> None:
    project.write(
        "scenarios/test_odd.py",
        """
def test_odd(agent):
    agent.run("Be odd.")
    raise ValueError("\\ud800 \\x1b[31m \\0")

def test_next(agent):
    agent.run("Go on.")
""",
    )
    args = ["scenarios/test_odd.py", "--runtime=nop", "--run-dir=run", "--trials=2"]
    args += ["--junitxml=j.xml", "--json-report"]
    project.run(*args, *workers).assert_outcomes(passed=2, failed=2)
    assert len(project.records()) == 4
    ET.parse(project.path / "j.xml")


def test_a_finished_test_is_reported_and_not_run(project: Project, workers: list[str]) -> None:
    project.write(
        "scenarios/test_once.py",
        """
import pathlib, pytest

@pytest.fixture(autouse=True)
def seen(trial):
    here = pathlib.Path(__file__).parent
    (here / f"seen-{trial.scenario.id}").touch(exist_ok=False)

@pytest.mark.parametrize("word", ["yes", "no"])
def test_once(agent, word):
    agent.run("Once.")
    assert word == "yes", "it was no"
""",
    )
    args = ["scenarios/test_once.py", "--runtime=nop", "--run-dir=run", *workers]
    project.run(*args).assert_outcomes(passed=1, failed=1)
    before = project.lines()
    result = project.run(*args)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["from an earlier run: score 0.000 *", "*AssertionError: it was no*"]
    )
    result.stdout.no_fnmatch_line("*recorder.py*")
    assert project.lines() == before
