from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_agentbench.scenario.load import load
from pytest_agentbench.scenario.lock import lock

SCENARIO = """\
agentbench: 1
dimension: safety
prompt: Do it.
workspace_seed_dir: seed
skills: [skills/adding]
setup_script: setup.sh
custom_check: checkers/grade.py
checks: [{id: a, type: python, function: "checkers/more.py:check"}]
rubric: Is it clear?
timeout_seconds: 60
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for file, content in {
        "pyproject.toml": "",
        "case.yaml": SCENARIO,
        "seed/a.txt": "a",
        "seed/b.txt": "b",
        "setup.sh": "true",
        "skills/adding/SKILL.md": "Add.",
        "skills/adding/scripts/add.py": "1 + 1",
        "checkers/grade.py": "from common import x\nimport json\n",
        "checkers/common.py": "import deeper\n",
        "checkers/deeper.py": "x = 1",
        "checkers/more.py": "def check(): ...",
        "checkers/other.py": "",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(content)
    return tmp_path


def changed(folder: Path, before: dict[str, str]) -> list[str]:
    after = lock(load(folder / "case.yaml"))
    return [part for part in after if after[part] != before[part]]


def test_the_parts_are_hashes(folder: Path) -> None:
    parts = lock(load(folder / "case.yaml"))
    assert list(parts) == [
        "scenario",
        "inputs",
        "checker",
        "rubric",
        "skills",
        "scripts",
        "limits",
        "grading",
    ]
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in parts.values())


def test_the_same_files_elsewhere_have_the_same_lock(folder: Path, tmp_path: Path) -> None:
    before = lock(load(folder / "case.yaml"))
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file():
            target = copy / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    assert changed(copy, before) == []


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("seed/a.txt", "inputs"),
        ("setup.sh", "scripts"),
        ("skills/adding/SKILL.md", "skills"),
        ("skills/adding/scripts/add.py", "skills"),
        ("checkers/grade.py", "checker"),
        ("checkers/common.py", "checker"),
        ("checkers/deeper.py", "checker"),
        ("checkers/more.py", "checker"),
    ],
)
def test_a_changed_file_changes_its_part(folder: Path, file: str, part: str) -> None:
    before = lock(load(folder / "case.yaml"))
    (folder / file).write_text("import common  # changed")
    assert changed(folder, before) == [part]


def test_a_file_that_grades_nothing_changes_nothing(folder: Path) -> None:
    before = lock(load(folder / "case.yaml"))
    (folder / "checkers/other.py").write_text("changed")
    assert changed(folder, before) == []


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("Do it.", "Do it now.", ["scenario"]),
        ("timeout_seconds: 60", "timeout_seconds: 61", ["scenario", "limits"]),
        ("clear?", "clean?", ["scenario", "rubric"]),
        ("rubric", "sandbox: {processes: 9}\nrubric", ["scenario", "limits"]),
    ],
)
def test_a_changed_key_changes_its_part(folder: Path, old: str, new: str, parts: list[str]) -> None:
    before = lock(load(folder / "case.yaml"))
    (folder / "case.yaml").write_text(SCENARIO.replace(old, new))
    assert changed(folder, before) == parts


def test_a_mode_and_a_name_are_part_of_an_input(folder: Path) -> None:
    before = lock(load(folder / "case.yaml"))
    (folder / "seed/a.txt").chmod(0o755)
    assert changed(folder, before) == ["inputs"]
    (folder / "seed/a.txt").chmod(0o644)
    (folder / "seed/a.txt").rename(folder / "seed/c.txt")
    assert changed(folder, before) == ["inputs"]


def test_content_cannot_move_from_one_file_to_another(folder: Path) -> None:
    before = lock(load(folder / "case.yaml"))
    (folder / "seed/a.txt").write_text("ab")
    (folder / "seed/b.txt").write_text("")
    assert changed(folder, before) == ["inputs"]


@pytest.mark.parametrize("file", ["harness/__init__.py", "harness/helpers.py", "harness/deep.py"])
def test_what_a_checker_imports_from_its_checkout_is_locked(tmp_path: Path, file: str) -> None:
    for path, content in {
        "scenarios/safety/case.yaml": "id: case\ndimension: safety\nbenchmark_group: intelligence\nprompt: Do it.\n"
        "custom_check: case.py\n",
        "custom_checks/case.py": "from harness.helpers import (\n    x,\n)\n",
        "harness/__init__.py": "",
        "harness/helpers.py": "from .deep import x\n",
        "harness/deep.py": "x = 1\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    case = tmp_path / "scenarios/safety/case.yaml"
    before = lock(load(case))
    (tmp_path / file).write_text("x = 2\n")
    after = lock(load(case))
    assert [part for part in after if after[part] != before[part]] == ["checker"]
