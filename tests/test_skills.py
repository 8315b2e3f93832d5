"""Mode ``with-skill``: the scenario's own skills lie where the runtime looks for them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_agentbench.skill import Offer
from pytest_agentbench.skills.contents import digest
from pytest_agentbench.skills.place import place
from pytest_agentbench.status import Status, TrialFault
from tests.project import Project

SKILL = "---\nname: shouting\ndescription: How to shout.\n---\n\nUse upper case.\n"


@pytest.fixture
def skill(project: Project) -> Path:
    folder = project.path / "scenarios" / "shouting"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "run.sh").write_text("true\n")
    (folder / "run.sh").chmod(0o755)
    scenario = project.path / "scenarios" / "shout.yaml"
    scenario.write_text(scenario.read_text() + "skills: [shouting]\n")
    return folder


def test_the_agent_is_told_of_its_skill_and_finds_it(project: Project, skill: Path) -> None:
    arguments = ("--model=scripted", "--mode=baseline", "--mode=with-skill")
    project.bench(*arguments, runtime="minimal").assert_outcomes(passed=2)
    baseline, with_skill = project.records()
    (phase,) = with_skill["phases"]
    (placed,) = phase["given"]
    assert (placed["name"], placed["files"], len(placed["sha256"])) == ("shouting", 2, 64)
    # Told by the runtime, and not looked into by a model that plays steps.
    assert (placed["shown"], placed["opened"], placed["used"]) == (True, False, False)
    assert phase["mutation"] == {"added": [], "edited": [], "deleted": []}
    assert "given" not in baseline["phases"][0]
    told = [record["observed"]["model_calls"]["first_request"] for record in (baseline, with_skill)]
    assert told[0]["tools_sha256"] == told[1]["tools_sha256"]
    assert told[1]["system_characters"] - told[0]["system_characters"] > len("How to shout.")


def test_a_scenario_without_a_skill_is_skipped(project: Project) -> None:
    result = project.bench("--model=scripted", "--mode=with-skill", "-rs", runtime="minimal")
    result.assert_outcomes(skipped=1)
    reason = "the scenario has no skills, which mode with-skill gives to the agent"
    result.stdout.fnmatch_lines([f"*{reason}*"])
    assert [record["status"] for record in project.records()] == ["unsupported"]


def test_a_runtime_without_a_folder_of_skills_is_skipped(project: Project, skill: Path) -> None:
    result = project.bench("--mode=with-skill", "-rs", runtime="oracle")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*runtime oracle has no folder of skills in a workspace*"])


def test_what_is_placed_is_a_copy_of_regular_files(tmp_path: Path) -> None:
    skill = tmp_path / "skill"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    (skill / "scripts" / "go").write_text("true\n")
    (skill / "scripts" / "go").chmod(0o755)
    offer = Offer(folder=skill)
    (placed,) = place([offer], tmp_path / "ws", ".agents/skills")
    assert (placed.name, placed.files, placed.sha256) == ("skill", 2, digest(skill))
    copy = tmp_path / "ws" / ".agents" / "skills" / "skill"
    assert (copy / "SKILL.md").read_text() == SKILL
    assert os.access(copy / "scripts" / "go", os.X_OK)
    (skill / "secret").symlink_to("/etc/passwd")
    with pytest.raises(TrialFault) as caught:
        place([offer], tmp_path / "other", "skills")
    assert caught.value.status is Status.HARNESS_ERROR
    assert str(caught.value) == "skill skill: 'secret' is no regular file; make it one"
