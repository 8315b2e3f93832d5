"""The skills that the harness itself gives, as an agent would use them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from pytest_agentbench.seeds import Kind, seeds
from pytest_agentbench.skill import Offer
from pytest_agentbench.skills.place import place

KINDS = get_args(Kind)
HEAD = "---\nname: ours\ndescription: d\n---\n"
(CREATOR,) = seeds("skill-creator")
CHECK = CREATOR / "scripts" / "check_skill.py"
FENCE = re.compile(r"^[ ]*```sh\n(.*?)^[ ]*```$", re.DOTALL | re.MULTILINE)


def check(*folders: Path) -> tuple[int, str]:
    """The exit code of the creator's validation, and what it says."""
    done = subprocess.run(
        [sys.executable, "-I", CHECK, *folders], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def skill(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_one_of_each_kind_and_its_form_is_right(kind: Kind) -> None:
    (folder,) = seeds(kind)
    assert check(folder) == (0, "the form is right\n")
    assert len((folder / "SKILL.md").read_text("utf-8").splitlines()) < 150


def test_the_empty_one_gives_no_guidance() -> None:
    (folder,) = seeds("empty")
    body = (folder / "SKILL.md").read_text("utf-8").rpartition("---\n")[2]
    assert all(line.startswith("#") for line in body.splitlines() if line)


@pytest.mark.parametrize("place_of_skills", ["skills", ".agents/skills"])
def test_the_irrelevant_ones_command_finds_its_script_wherever_skills_lie(
    tmp_path: Path, place_of_skills: str
) -> None:
    place([Offer(folder=folder) for folder in seeds("irrelevant")], tmp_path, place_of_skills)
    (text,) = (path.read_text("utf-8") for path in tmp_path.rglob("SKILL.md"))
    (command,) = FENCE.findall(text)
    before = sorted(tmp_path.rglob("*"))
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "flour: 500 g\nwater: 360 g\nstarter: 100 g\nsalt: 10 g\n"
    assert sorted(tmp_path.rglob("*")) == before


def test_what_the_creator_speaks_of_is_there(tmp_path: Path) -> None:
    place([Offer(folder=folder) for folder in seeds("skill-creator")], tmp_path, "skills")
    text = (CREATOR / "SKILL.md").read_text("utf-8")
    (command,) = (line.strip() for line in text.splitlines() if line.endswith("FOLDER"))
    skill(tmp_path / "skills" / "ours", f"{HEAD}\nDo it.\n")
    done = subprocess.run(
        ["sh", "-c", command.replace("FOLDER", "skills/ours")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "the form is right\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Do it.\n", "SKILL.md has no front matter: begin it with ---, name, description, ---"),
        ("---\ndescription: d\n---\n\nDo it.\n", "name is missing"),
        ("---\nname: ours\n---\n\nDo it.\n", "description is missing"),
        (
            "---\nname: Our Skill\ndescription: d\n---\n\nDo it.\n",
            "name 'Our Skill': lower-case letters, digits, single hyphens; up to 64",
        ),
        (
            "---\nname: theirs\ndescription: d\n---\n\nDo it.\n",
            "name 'theirs' is not the name of its folder, 'ours'",
        ),
        (
            f"---\nname: ours\ndescription: {'d' * 1025}\n---\n\nDo it.\n",
            "description has 1025 characters, at most 1024",
        ),
        (HEAD, "SKILL.md has no body: nothing is said beyond the description"),
        (
            f"{HEAD}\nRun `scripts/do.py`.\n",
            "SKILL.md speaks of scripts/do.py, which is not there",
        ),
        (HEAD + "line\n" * 501, "SKILL.md has over 500 lines: move a part to references/"),
    ],
)
def test_the_creators_validation_says_what_is_wrong(
    tmp_path: Path, text: str, problem: str
) -> None:
    folder = skill(tmp_path / "ours", text)
    assert check(folder) == (1, f"{folder}: {problem}\n")


def test_the_creators_validation_survives_what_is_no_skill(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    binary = skill(tmp_path / "binary", "")
    (binary / "SKILL.md").write_bytes(b"\xff\xfe\0")
    linked = skill(tmp_path / "ours", f"{HEAD}\nDo it.\n")
    (linked / "more.md").symlink_to("/etc/hostname")
    told = (
        f"{empty}: there is no SKILL.md\n"
        f"{binary}: SKILL.md is not in UTF-8\n"
        f"{linked}: more.md is a link: put the file itself there\n"
    )
    assert check(empty, binary, linked) == (1, told)
