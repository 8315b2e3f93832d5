"""Lint of skills and siblings: answers in a skill, and siblings that are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from tests.test_lint import GOOD

SKILL = "---\nname: adding\ndescription: How to add rows.\n---\n\nAdd the rows, drafts left out.\n"
CHECK = "- {id: ids, type: json_path, path: out.json, query: $.ids, unordered: [1, 2, 4]}"
ROWS = (
    "- {id: rows, type: table, path: rows.csv, key: no, rows: "
    "[{no: B-40270, state: withdrawn, sum: 1411.50}]}\n"
)


def lint(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The findings of the two rules."""
    main(["lint", "-q", str(folder)])
    lines = capsys.readouterr().out.splitlines()
    return [line.strip() for line in lines if line.startswith(("  skill: ", "  sibling: "))]


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "adding"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    text = GOOD.replace(CHECK, f"{CHECK}\n{ROWS}", 1)
    assert ROWS in text
    (tmp_path / "totals.yaml").write_text(f"{text}skills: [adding]\n")
    return folder


def test_a_skill_that_says_how_is_no_answer(
    skill: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint(tmp_path, capsys) == []


@pytest.mark.parametrize("value", ["B-40270", "withdrawn", "1411.5"])
def test_expected_values_in_a_skill_are_found(
    value: str, skill: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (skill / "scripts" / "add.py").write_text(f"ANSWER = '{value}'\n")
    assert lint(tmp_path, capsys) == [
        f"skill: adding/scripts/add.py has {value!r}, which rows expects"
    ]


def test_words_that_the_task_explains_may_be_used(
    skill: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (skill / "SKILL.md").write_text(f"{SKILL}The state is withdrawn or ok.\n")
    scenario = tmp_path / "totals.yaml"
    scenario.write_text(
        scenario.read_text().replace("Drafts do", "What is withdrawn and drafts do")
    )
    assert lint(tmp_path, capsys) == []


def test_a_skill_that_cannot_be_placed_is_found(
    skill: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (skill / "more.md").symlink_to("/etc/hostname")
    (found,) = lint(tmp_path, capsys)
    assert found == "skill: skill adding: 'more.md' is no regular file; make it one"


def sibling(folder: Path, text: str = GOOD, id: str = "sums") -> None:  # noqa: A002
    (folder / f"{id}.yaml").write_text(text.replace("id: totals", f"id: {id}", 1))


def test_siblings_that_are_the_same_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sibling(tmp_path, f"{GOOD}siblings: [sums]\n", "totals")
    sibling(tmp_path)
    assert lint(tmp_path, capsys) == [
        f"sibling: {what} are those of its sibling sums: a skill would carry them over"
        for what in ("inputs", "solution", "expected values")
    ]


def test_a_sibling_that_is_nowhere_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sibling(tmp_path, f"{GOOD}siblings: [nope]\n", "totals")
    assert lint(tmp_path, capsys) == ["sibling: 'nope' is no scenario here"]
    assert lint(tmp_path / "totals.yaml", capsys) == []  # it may be in another folder


def test_scenarios_of_a_family_are_siblings_if_none_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sibling(tmp_path, f"{GOOD}family: adding\n", "totals")
    other = GOOD.replace("1000", "1001").replace("3422", "3423").replace("3523", "3524")
    sibling(tmp_path, f"{other}family: adding\n")
    assert lint(tmp_path, capsys) == []
    sibling(tmp_path, f"{other.replace('1001', '1000')}family: adding\n")
    shared = "sibling: inputs are those of its sibling {}: a skill would carry them over"
    assert lint(tmp_path, capsys) == [shared.format("totals"), shared.format("sums")]
