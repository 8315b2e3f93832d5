"""The ``agentbench`` command, beside ``lint`` (test_lint.py)."""

from __future__ import annotations

import pytest

from pytest_agentbench.cli import main
from tests.project import Project


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "plan.json",
            "{}",
            (
                "plan.json: not a plan of pytest-agentbench (KeyError: 'schema'). Remove the file, "
                "or choose another --run-dir"
            ),
        ),
        (
            "ledger.jsonl",
            '{"schema": "2.0", "event": "graded"}\n',
            (
                "ledger.jsonl:1: record schema '2.0'; this version of pytest-agentbench reads "
                "schema 1.x. Read the ledger with the version that wrote it, or choose another "
                "--run-dir"
            ),
        ),
    ],
)
def test_report_says_what_it_cannot_read(
    project: Project, capsys: pytest.CaptureFixture[str], name: str, content: str, message: str
) -> None:
    project.bench().assert_outcomes(passed=1)
    project.write(f"run/{name}", content)
    capsys.readouterr()
    run = project.path / "run"
    assert main(["report", str(run)]) == 2
    assert capsys.readouterr().err == f"agentbench report: {run}: {message}\n"
