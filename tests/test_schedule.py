"""No trial waits behind a long one while another worker idles."""

from __future__ import annotations

import pytest

from tests.project import Project

LONG = """
[tool.agentbench.runtimes.sleeper]
adapter = "command"
argv = ["sh", "-c", "if [ -e long ]; then sleep 6; fi"]
"""


def test_long_trials_run_side_by_side(project: Project) -> None:
    """xdist's own strategies would give both long trials, which come first, to one worker."""
    (project.path / "scenarios" / "shout.yaml").unlink()
    for name in ("a_long", "b_long", "c", "d", "e", "f"):
        path = project.scenario(name)
        if "long" in name:
            path.write_text(
                path.read_text().replace(
                    "workspace_files:", "workspace_files:\n  - {path: long, content: x}"
                )
            )
    project.write("pyproject.toml", LONG)
    project.bench("-n", "2", runtime="sleeper").assert_outcomes(failed=6)
    spans = {r["scenario"]["id"]: (r["started"], r["ended"]) for r in project.records()}
    assert spans["a_long"][0] < spans["b_long"][1]
    assert spans["b_long"][0] < spans["a_long"][1]


def test_a_worker_that_dies_loses_its_own_trial_only(project: Project) -> None:
    project.write(
        "conftest.py",
        """
import os, pytest

@pytest.fixture
def skills(trial):
    if trial.index == 3:
        os._exit(1)
    return ()
""",
    )
    result = project.bench("-n", "2", "--trials=6")
    assert result.ret == 1
    by_index = {r["index"]: r["status"] for r in project.records()}
    assert by_index == {n: "worker_lost" if n == 3 else "completed" for n in range(1, 7)}


@pytest.mark.parametrize("dist", ["worksteal", "loadfile"])
def test_other_strategies_can_be_asked_for(project: Project, dist: str) -> None:
    project.bench("-n", "2", "--trials=4", f"--dist={dist}").assert_outcomes(passed=4)


def test_thirty_two_workers(project: Project) -> None:
    project.bench("-n", "32", "--trials=40").assert_outcomes(passed=40)
    assert sorted(r["index"] for r in project.records()) == list(range(1, 41))


def test_ordinary_tests_run_beside_trials(project: Project) -> None:
    project.write("scenarios/test_own.py", "def test_one(): pass\ndef test_two(): pass\n")
    project.bench("-n", "2").assert_outcomes(passed=3)


def test_a_session_without_trials_is_scheduled_by_xdist(project: Project) -> None:
    project.write("tests/test_own.py", "def test_one(): pass\ndef test_two(): pass\n")
    project.run("tests", "--runtime=nop", "-n", "2").assert_outcomes(passed=2)
