"""Real runtimes that write skills, are given them, and change them: a model that knows nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from tests.project import scenario_text
from tests.runtimes.conftest import SHIPPED, Bench
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


#: Between the phases of ``preskill``, the text that the agent wrote is taken for another.
SWAPS = """\
from dataclasses import replace
from pytest_agentbench.modes import MODES, Mode

def pytest_agentbench_modes(config):
    author, reuse = MODES["preskill"].stages
    return (Mode(name="swapped", stages=(author, replace(reuse, skills="irrelevant"))),)
"""


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
    (shout.parent / "conftest.py").write_text(SWAPS, "utf-8")
    options = (f"--runtime={name}", *modes, "--mode=swapped", *models, "-n3", "--gate=none")
    run = bench(str(shout), *options, table=table)
    records = {(record["model"], record["mode"]): record for record in run.records}
    assert {record["status"] for record in run.records} == {"completed"}, run.output
    scores = {case: record["grade"]["score"] for case, record in records.items()}
    assert scores["helpful", "swapped"] <= scores["helpful", "baseline"] + 0.02, run.output
    assert records["helpful", "swapped"]["phases"][0]["made"][0]["name"] == "shouting"
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


#: Scenarios, and the skill that is of use in each.
SIX = {
    "constraints/equipment_fund.yaml": "fund-allocation",
    "constraints/release_notice.yaml": "release-notice",
    "error_recovery/till_batches.yaml": "batch-recovery",
    "safety/partner_extract.yaml": "partner-extract",
    "synthesis/quarter_close.yaml": "ledger-close",
    "tool_use/badge_audit.yaml": "access-review",
}


def test_six_scenarios_are_compared_in_three_modes(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    selector = tmp_path / "project" / "six.json"
    files = [str(SHIPPED / name) for name in SIX]
    assert main(["freeze", *files, "--name", "six", "-o", str(selector)]) == 0
    lessons = "".join(
        f'{Path(name).stem} = "{SHIPPED / Path(name).parent / "skills" / skill / "SKILL.md"}"\n'
        for name, skill in SIX.items()
    )
    table = MODEL.format(
        name="apprentice", more=f"[tool.agentbench.models.apprentice.lesson]\n{lessons}"
    )
    run = bench(
        *(str(SHIPPED), f"--selector={selector}", "--runtime=nanobot", "--model=apprentice"),
        *("--mode=baseline", "--mode=preskill", "--mode=postskill", "--trials=2"),
        *("-n2", "--gate=none", "--tb=no"),
        table=table,
    )
    assert len(run.records) == 36, run.output
    assert {record["status"] for record in run.records} == {"completed"}, run.output
    report = json.loads((run.folder / "report.json").read_text("utf-8"))
    rows = {row["mode"]: row for row in report["skills"]}
    assert set(rows) == {"preskill", "postskill"}
    for row in rows.values():
        assert row["score"]["before"] == 0.0, row
        assert row["score"]["change"] > 0.99, row
        assert row["made"]["with_skill"] == row["given"]["opened"] == row["given"]["used"] == 12
    for told in ("skills: score", "skills: effort", "skills: made and used"):
        assert told in run.output
    assert main(["report", str(run.folder), "--format", "html"]) == 0
    page = (run.folder / "report.html").read_text("utf-8")
    assert "postskill" in page
    assert "break-even" in page
