"""The examples of docs/checkers.md do what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_agentbench.execution import Execution
from pytest_agentbench.flag import Flag
from pytest_agentbench.grading.client import CheckerServer
from pytest_agentbench.grading.grader import Grader
from pytest_agentbench.sandbox.subreaper import Subreaper
from pytest_agentbench.scenario.load import load
from pytest_agentbench.scenario.model import Form, GraderCode, Scenario
from pytest_agentbench.status import Status

PAGE = (Path(__file__).parent.parent / "docs" / "checkers.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
HEADER = """\
agentbench: 1
id: total
dimension: tool_use
prompt: Write the total of invoices.csv to out.json.
workspace_files:
  - {path: invoices.csv, content: "amount\\n1\\n2\\n"}
solution:
  - {write: out.json, content: '{"total": 3}'}
"""


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


@pytest.mark.parametrize(
    ("output", "points", "flags"),
    [('{"total": 3}', 2.0, ()), ('{"total": ', 0.0, (Flag.CHECKER_CRASHED,))],
)
def test_the_function(tmp_path: Path, output: str, points: float, flags: tuple[str, ...]) -> None:
    (declared,), function = blocks("yaml"), blocks("python")[0]
    (tmp_path / "total.yaml").write_text(HEADER + declared)
    (tmp_path / "totals.py").write_text(function)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "invoices.csv").write_text("amount\n1\n2\n")
    (workspace / "out.json").write_text(output)
    scenario = load(tmp_path / "total.yaml")
    with CheckerServer() as server:
        execution = Execution(status=Status.COMPLETED)
        grade = Grader(server, Subreaper()).grade(scenario, execution, workspace)
    assert (grade.checks[0].earned, grade.flags) == (points, flags)


@pytest.mark.parametrize("number", [1, 2])
def test_the_published_forms(tmp_path: Path, number: int) -> None:
    source = blocks("python")[number]
    (tmp_path / "report.py").write_text(source)
    code = (
        GraderCode(path=tmp_path / "report.py")
        if number == 1
        else GraderCode(source=source, api="evoclaw")
    )
    scenario = Scenario(
        id="report",
        path=tmp_path / "report.md",
        prompt="Write report.md.",
        form=(Form.CLAWPRO, Form.EVOCLAW)[number - 1],
        policy=("composite", "mean")[number - 1],
        grader=code,
    )
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    with CheckerServer() as server:
        grader = Grader(server, Subreaper())
        execution = Execution(status=Status.COMPLETED)
        before = grader.grade(scenario, execution, workspace)
        (workspace / "report.md").write_text("done")
        after = grader.grade(scenario, execution, workspace)
    assert [before.checks[0].earned, after.checks[0].earned] == [0.0, 1.0]
