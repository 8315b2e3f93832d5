"""Which ``pyproject.toml`` is read, and where the runs of it are kept and said to be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_agentbench.runtimes.registry import ADAPTERS
from tests.project import Project, scenario_text

MINE = "[tool.agentbench.runtimes.mine]\nadapter = 'oracle'\n"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """Scenarios of others, in a checkout that pytest takes for the root of the project."""
    folder = tmp_path / "suite"
    (folder / "tasks").mkdir(parents=True)
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (folder / "tasks/shout.yaml").write_text(scenario_text())
    return folder


def page(result: pytest.RunResult) -> str:
    """The folder of the run in the last line: what people copy."""
    (line,) = (line for line in result.outlines if line.startswith("as a page:"))
    found = re.fullmatch(r"as a page: agentbench report (\S+) --format html", line)
    assert found, line
    assert f"agentbench: run folder {found[1]}" in result.outlines
    return found[1]


def test_scenarios_of_others_run_with_ones_own_profiles_and_leave_nothing_there(
    project: Project, foreign: Path, workers: list[str]
) -> None:
    project.write("pyproject.toml", MINE + "[tool.agentbench.defaults]\ntrials = 2\n")
    before = sorted(foreign.rglob("*"))
    result = project.run(
        str(foreign / "tasks"), "--runtime=mine", "-p", "no:cacheprovider", *workers
    )
    result.assert_outcomes(passed=2)
    folder = page(result)
    assert re.fullmatch(r"reports/[\d-]+", folder)
    assert len(project.records(folder)) == 2
    assert sorted(foreign.rglob("*")) == before
    assert project.command("report", folder).ret == 0


def test_the_table_of_the_scenarios_own_project_comes_first(
    project: Project, foreign: Path
) -> None:
    project.write("pyproject.toml", MINE)
    (foreign / "pyproject.toml").write_text(MINE.replace("mine", "theirs"))
    result = project.run(str(foreign / "tasks"), "--runtime=mine")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (told,) = (line for line in result.errlines if line.startswith("ERROR: --runtime: 'mine'"))
    assert told.endswith("suite/pyproject.toml")
    result = project.run(str(foreign / "tasks"), "--runtime=theirs", "-p", "no:cacheprovider")
    folder = page(result)
    assert (project.path / folder).resolve().parent == foreign / "reports"
    assert project.command("report", folder).ret == 0


@pytest.mark.parametrize(
    ("table", "allowed", "read"),
    [
        (MINE, [*sorted(ADAPTERS), "mine"], "read: pyproject.toml"),
        ("", sorted(ADAPTERS), "no pyproject.toml with [tool.agentbench] was found"),
    ],
)
def test_the_run_and_the_doctor_look_in_the_same_file_and_name_it(
    project: Project, foreign: Path, table: str, allowed: list[str], read: str
) -> None:
    project.write("pyproject.toml", table)
    problem = f"'note' is not known; allowed: {', '.join(allowed)}; {read}"
    result = project.run(str(foreign / "tasks"), "--runtime=note")
    assert f"ERROR: --runtime: {problem}" in result.errlines
    assert project.command("doctor", "note").outlines == [f"agentbench doctor: runtime: {problem}"]


def test_the_folder_of_a_run_is_told_as_it_can_be_typed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("pyproject.toml", MINE)
    (project.path / "below").mkdir()
    monkeypatch.chdir(project.path / "below")
    folder = page(project.run("../scenarios", "--runtime=mine"))
    assert re.fullmatch(r"\.\./reports/[\d-]+", folder)
    assert project.command("report", folder).ret == 0
