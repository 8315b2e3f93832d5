"""Scenarios written as plain Python tests, with the same fixtures."""

from __future__ import annotations

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
    assert {r["scenario"]["id"] for r in records} == {"test_notes.test_notes"}
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


def test_an_unknown_fact_in_the_mark_is_named(project: Project) -> None:
    project.write("scenarios/test_notes.py", TEST.replace("weight=2", "wieght=2"))
    result = project.run("scenarios/test_notes.py", "--runtime=oracle")
    result.stdout.fnmatch_lines(["*mark agentbench: unknown wieght; allowed: name, dimension*"])


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
