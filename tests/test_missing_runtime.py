"""A runtime that is missing, or whose key is refused: told once, and none of its trials started."""

from __future__ import annotations

import re

from tests.project import Project

GHOST = """
[tool.agentbench.runtimes.ghost]
adapter = "command"
argv = ["no-such-agent"]
install = "pip install no-such-agent"
"""
REFUSED = """
[tool.agentbench.defaults]
max_attempts = 1

[tool.agentbench.models.locked]
backend = "scripted"
policy = "error:401"
"""
#: Says in a file that an agent was about to run.
TELLING = """
import pytest

@pytest.fixture
def runtime(trial, runtime, request):
    with (request.config.rootpath / "started").open("a") as file:
        file.write(trial.runtime.name + "\\n")
    return runtime
"""


def test_a_missing_runtime_is_told_once_and_others_run(
    project: Project, workers: list[str]
) -> None:
    project.write("pyproject.toml", GHOST)
    project.write("conftest.py", TELLING)
    result = project.bench("--runtime=ghost", "--trials=4", *workers)
    result.assert_outcomes(passed=4, errors=1)
    assert result.ret == 11
    message = (
        "runtime ghost: no-such-agent is not on PATH; install it with: pip install no-such-agent"
    )
    assert result.outlines.count(message) == 1
    assert "4 passed, 1 error, 3 not_started" in re.sub(r"\x1b\[\d*m", "", result.outlines[-1])
    statuses = sorted((r["runtime"], r["status"]) for r in project.records())
    assert statuses == [("ghost", "runtime_missing")] * 4 + [("oracle", "completed")] * 4
    assert {r["message"] for r in project.records() if r["runtime"] == "ghost"} == {message}
    assert set((project.path / "started").read_text().split()) == {"oracle"}


def test_a_runtime_that_was_installed_meanwhile_runs_on_resume(project: Project) -> None:
    project.write("pyproject.toml", GHOST)
    project.bench("--trials=2", runtime="ghost")
    project.write("pyproject.toml", GHOST.replace("no-such-agent", "true"))
    project.bench("--trials=2", runtime="ghost").assert_outcomes(failed=2)
    assert [r["status"] for r in project.records()] == ["runtime_missing"] * 2 + ["completed"] * 2


def test_a_refused_key_stops_that_runtime_with_that_model(project: Project) -> None:
    project.write("pyproject.toml", REFUSED)
    args = ("--model=locked", "--model=scripted", "--trials=3")
    result = project.bench(*args, runtime="minimal")
    result.assert_outcomes(passed=3, errors=1)
    assert result.ret == 1
    by_model = {
        model: [(r["index"], r["status"]) for r in project.records() if r["model"] == model]
        for model in ("locked", "scripted")
    }
    assert by_model["locked"] == [(1, "auth_error"), (2, "not_started"), (3, "not_started")]
    assert {status for _, status in by_model["scripted"]} == {"completed"}
    reason = (
        "not started: minimal with the model locked was stopped when the provider refused the key "
        "in scenarios/shout.yaml::shout[minimal-locked-baseline-t1]; mend that and run again with "
        "the same --run-dir"
    )
    messages = [r["message"] for r in project.records() if r["status"] == "not_started"]
    assert messages == [reason, reason]
    assert "3 passed, 1 error, 2 not_started" in re.sub(r"\x1b\[\d*m", "", result.outlines[-1])


def test_what_was_stopped_runs_on_resume(project: Project) -> None:
    project.write("pyproject.toml", REFUSED)
    project.bench("--model=locked", "--trials=3", runtime="minimal").assert_outcomes(errors=1)
    project.write("pyproject.toml", REFUSED.replace("error:401", "solve"))
    again = project.bench("--model=locked", "--trials=3", runtime="minimal")
    again.assert_outcomes(passed=3)
    assert again.ret == 0


def test_a_refused_key_stops_the_trials_of_other_workers(project: Project) -> None:
    """The second trial is held back until the first has its record, then all others come."""
    project.write("pyproject.toml", REFUSED)
    project.write(
        "conftest.py",
        """
import pytest, time

@pytest.fixture
def skills(trial, request):
    ledger = request.config.rootpath / "run" / "ledger.jsonl"
    while trial.index == 2 and not (ledger.exists() and "auth_error" in ledger.read_text()):
        time.sleep(0.01)
    if trial.index == 2:
        pytest.skip("held back")
    return ()
""",
    )
    result = project.bench("--model=locked", "--trials=8", "-n", "2", runtime="minimal")
    result.assert_outcomes(errors=1, skipped=1)
    statuses = {r["index"]: r["status"] for r in project.records()}
    assert statuses == {
        1: "auth_error",
        2: "unsupported",
        **dict.fromkeys(range(3, 9), "not_started"),
    }
