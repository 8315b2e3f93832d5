"""``agentbench inventory``: what scenarios there are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from tests.project import scenario_text

Capture = pytest.CaptureFixture[str]
CODE = """\
agentbench: 1
dimension: safety
prompt: Do no harm.
custom_check: grade.py
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three scenarios, of which one is graded by Python."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "scenarios"
    folder.mkdir()
    (folder / "shout.yaml").write_text(scenario_text())
    (folder / "yell.yaml").write_text(scenario_text("yell", difficulty="hard", tags="csv, text"))
    (folder / "zeal.yaml").write_text(CODE)
    (folder / "grade.py").write_text("")
    return folder


def test_scenarios_are_listed_and_counted(suite: Path, capsys: Capture) -> None:
    assert main(["inventory", "scenarios"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "scenario  dimension  difficulty     policy  checks  probes  skills  criteria",
        "shout      tool_use        easy  composite       3       1       –         –",
        "yell       tool_use        hard  composite       3       1       –         –",
        "zeal         safety      medium  composite    code       –       –         –",
        "",
        "3 scenarios",
        "by dimension: tool_use 2, safety 1",
        "by difficulty: easy 1, medium 1, hard 1",
        "by tag: text 2, csv 1",
    ]


def test_the_same_as_json(suite: Path, capsys: Capture) -> None:
    assert main(["inventory", "scenarios/yell.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "scenarios": [
            {
                "id": "yell",
                "file": "scenarios/yell.yaml",
                "dimension": "tool_use",
                "difficulty": "hard",
                "policy": "composite",
                "tags": ["csv", "text"],
                "checks": 3,
                "code": False,
                "probes": 1,
                "skills": 0,
                "criteria": 0,
            }
        ],
        "counts": {
            "dimension": {"tool_use": 1},
            "difficulty": {"hard": 1},
            "tag": {"csv": 1, "text": 1},
        },
    }


def test_a_file_that_does_not_load_is_told_and_the_others_are_listed(
    suite: Path, capsys: Capture
) -> None:
    (suite / "zeal.yaml").write_text(CODE.replace("safety", "saftey"))
    assert main(["inventory", "scenarios"]) == 1
    said = capsys.readouterr()
    assert "2 scenarios\n" in said.out
    assert said.err.startswith(
        "agentbench inventory: scenarios/zeal.yaml:2: `dimension` cannot be 'saftey'; did you mean "
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [("nowhere", "nowhere: does not exist"), ("empty", "no scenario file under empty")],
)
def test_without_scenarios_it_is_wrong_usage(
    suite: Path, capsys: Capture, path: str, message: str
) -> None:
    Path("empty").mkdir()
    assert main(["inventory", path]) == 2
    assert capsys.readouterr() == ("", f"agentbench inventory: {message}\n")
