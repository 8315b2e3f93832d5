"""The same run folder again: what is finished is kept, the rest is run."""

from __future__ import annotations

from tests.project import Project


def test_finished_trials_are_reported_and_not_run(project: Project, workers: list[str]) -> None:
    project.bench("--trials=2", *workers).assert_outcomes(passed=2)
    before = project.lines()
    result = project.bench("--trials=3", *workers)
    result.assert_outcomes(passed=3)
    after = project.lines()
    assert after[: len(before)] == before
    assert sorted(r["index"] for r in project.records()) == [1, 2, 3]


def test_an_earlier_failure_stays_a_failure(project: Project) -> None:
    project.bench(runtime="nop").assert_outcomes(failed=1)
    result = project.bench(runtime="nop")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["from an earlier run: score 0.000 is below the threshold 0.6"])
    assert len(project.records()) == 1


def test_what_was_no_result_is_run_again(project: Project, workers: list[str]) -> None:
    conftest = project.write(
        "conftest.py",
        "import pytest\n@pytest.fixture\ndef skills(): raise ValueError('broken')\n",
    )
    project.bench(*workers).assert_outcomes(errors=1)
    conftest.unlink()
    project.bench(*workers).assert_outcomes(passed=1)
    assert [r["status"] for r in project.records()] == ["harness_error", "completed"]


def test_a_changed_scenario_is_another_trial(project: Project) -> None:
    project.bench().assert_outcomes(passed=1)
    path = project.path / "scenarios" / "shout.yaml"
    path.write_text(path.read_text().replace("in upper case", "in capitals"))
    project.bench("--accept-changes").assert_outcomes(passed=1)
    keys = {r["key"] for r in project.records()}
    assert len(keys) == 2


def test_a_profile_that_says_something_else_is_another_trial(project: Project) -> None:
    def run(seed: int) -> list[str]:
        table = f"[tool.agentbench.models.toy]\nbackend = 'scripted'\nseed = {seed}\n"
        project.pytester.makepyprojecttoml(table)
        result = project.bench("--model=toy", "--accept-changes", runtime="minimal")
        result.assert_outcomes(passed=1)
        return [record["key"] for record in project.records()]

    first = run(1)
    assert run(1) == first
    again = run(2)
    assert len(set(again)) == 2
    locks = [record["lock"] for record in project.records()]
    differing = [name for name in locks[0] if locks[0][name] != locks[1][name]]
    assert differing == ["model"]
    assert all(len(value) == 64 for value in (locks[0]["model"], locks[0]["runtime"]))
