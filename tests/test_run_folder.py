"""A run folder that cannot be used, or cannot be written any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project import Project

NO_PLAN = (
    "plan.json: not a plan of pytest-agentbench ({}). Remove the file, or choose another --run-dir"
)

OTHER = (
    "this version of pytest-agentbench reads schema {}. Read {} with the version that wrote it, "
    "or choose another --run-dir"
)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("run/plan.json", "{}", NO_PLAN.format("KeyError: 'schema'")),
        (
            "run/plan.json",
            '{"schema": "9.1", "trials": []}',
            "plan.json: plan schema 9.1; " + OTHER.format("1.0", "it"),
        ),
        (
            "run/ledger.jsonl",
            '{"schema": "9.1"}\n',
            "ledger.jsonl:1: record schema '9.1'; " + OTHER.format("1.x", "the ledger"),
        ),
        (
            "run/ledger.jsonl/x",
            "",
            "ledger.jsonl: cannot be read: Is a directory. Choose another --run-dir",
        ),
        ("run", "", "--run-dir: 'run' is not a folder; choose another"),
    ],
)
def test_a_folder_that_cannot_be_used_is_a_usage_error(
    project: Project, workers: list[str], name: str, text: str, message: str
) -> None:
    path = project.write(name, text)
    result = project.bench(*workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {message}" in result.errlines
    assert path.read_text() == text


def test_a_folder_that_is_read_only_is_a_usage_error(project: Project) -> None:
    # /proc is read-only for root too
    result = project.run("scenarios", "--runtime=oracle", "--run-dir=/proc/sys/run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    message = "ERROR: --run-dir: cannot write to the folder 'sys'; choose another"
    assert message in result.errlines


def test_what_cannot_be_written_stops_the_run_and_the_next_one_goes_on(
    project: Project, workers: list[str]
) -> None:
    # Stands for a full disk: no file of this run may grow beyond 12 KiB.
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (12_288, -1))\n"
    conftest = project.write("conftest.py", limit)
    project.scenario("other")
    result = project.bench("--trials=5", "-p", "no:json-report", *workers)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        ["*agentbench scoreboard*", "!*Interrupted: cannot write the run folder: File too large; *"]
    )
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    before = {r["key"] for r in project.records() if r["status"] == "completed"}
    assert 0 < len(before) < 10
    conftest.unlink()
    project.bench("--trials=5", *workers).assert_outcomes(passed=10)
    completed = [r["key"] for r in project.records() if r["status"] == "completed"]
    assert before < set(completed)
    assert len(completed) == len(set(completed)) == 10


@pytest.mark.parametrize(
    "option", ["--collect-only", "--setup-plan", "--setup-only", "--fixtures", "--dry-run"]
)
def test_what_only_shows_writes_nothing(project: Project, workers: list[str], option: str) -> None:
    project.bench(option, *workers)
    assert not Path(project.path, "run").exists()
