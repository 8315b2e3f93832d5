"""Real runtimes that write skills, are given them, and change them: a model that knows nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project import scenario_text
from tests.runtimes.conftest import Bench
from tests.test_modes import LESSON

RUNTIMES = ("codex", "nanobot")
MODEL = '[tool.agentbench.models.{name}]\nbackend = "scripted"\npolicy = "apprentice"\n{more}'


@pytest.fixture
def shout(tmp_path: Path) -> Path:
    """A small scenario, and two skills beside it: one that helps, one of another kind of work."""
    project = tmp_path / "project"
    for name, text in (
        ("shouting", LESSON),
        (
            "whispering",
            LESSON.replace("shouting", "whispering").replace("tr a-z A-Z", "tr A-Z a-z"),
        ),
    ):
        (project / name).mkdir(parents=True)
        (project / name / "SKILL.md").write_text(text, "utf-8")
    path = project / "shout.yaml"
    path.write_text(scenario_text().replace("timeout_seconds: 30", "timeout_seconds: 120"), "utf-8")
    return path


@pytest.mark.parametrize("name", RUNTIMES)
def test_a_skill_written_while_authoring_helps_later(bench: Bench, shout: Path, name: str) -> None:
    table = "".join(
        MODEL.format(name=model, more=f'lesson = "{lesson}/SKILL.md"\n{more}')
        for model, lesson, more in (
            ("helpful", "shouting", ""),
            ("useless", "whispering", ""),
            ("editing", "shouting", "edits = true\n"),
        )
    )
    modes = ("--mode=baseline", "--mode=preskill", "--mode=postskill")
    models = ("--model=helpful", "--model=useless", "--model=editing")
    options = (f"--runtime={name}", *modes, *models, "-n3", "--gate=none")
    run = bench(str(shout), *options, table=table)
    records = {(record["model"], record["mode"]): record for record in run.records}
    assert {record["status"] for record in run.records} == {"completed"}, run.output
    scores = {case: record["grade"]["score"] for case, record in records.items()}
    for mode in ("preskill", "postskill"):
        assert scores["helpful", mode] >= scores["helpful", "baseline"] + 0.3, run.output
        # The same phases with another text: what helped is what the skill says.
        assert scores["useless", mode] <= scores["useless", "baseline"] + 0.02, run.output
        *before, last = records["helpful", mode]["phases"]
        (made,), (given,) = before[-1]["made"], last["given"]
        assert (given["name"], given["sha256"]) == ("shouting", made["sha256"])
        assert (given["shown"], given["opened"]) == (True, True)
        assert not any(last["mutation"].values())
        assert "skill_changed" not in records["helpful", mode]["flags"]
        changed = records["editing", mode]
        assert changed["phases"][-1]["mutation"]["edited"] == ["shouting/SKILL.md"]
        assert "skill_changed" in changed["flags"]
    first = records["helpful", "postskill"]["phases"][0]
    assert first["score"] == scores["helpful", "baseline"]
