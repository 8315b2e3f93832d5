"""Each item that the papers ask of a published row is a field of ours."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.report.artefacts import read
from tests.project import Project

PAGE = (Path(__file__).parent.parent / "docs" / "provenance.md").read_text("utf-8")
TABLES = {"Table 3": 11, "Table 16": 7, "appendix N": 11}
MODEL = """
[tool.agentbench.models.played]
backend = "scripted"
"""
SKILL = "---\nname: shouting\ndescription: How to shout.\n---\nIn capitals.\n"
JUDGE = """
from pytest_agentbench.grading.judge import ScriptedJudge

def pytest_agentbench_judge(config):
    return ScriptedJudge()
"""


def rows() -> list[tuple[str, str, tuple[str, ...]]]:
    found = []
    for part in PAGE.split("\n## ")[1:]:
        title, _, rest = part.partition("\n")
        table = next(name for name in TABLES if name in title)
        for item, fields in re.findall(r"(?m)^\| ([^|`]+) \| (`.*`) \|$", rest):
            found.append((table, item, tuple(re.findall(r"`([^`]+)`", fields))))
    return found


def test_no_row_of_a_table_is_missing() -> None:
    assert {name: sum(row[0] == name for row in rows()) for name in TABLES} == TABLES


def test_every_field_of_every_row_is_in_a_run(project: Project) -> None:
    project.write("scenarios/skills/shouting/SKILL.md", SKILL)
    project.write("conftest.py", JUDGE)
    scenario = project.path / "scenarios" / "shout.yaml"
    scenario.write_text(scenario.read_text() + "skills: [skills/shouting]\n")
    config = project.path / "pyproject.toml"
    config.write_text(config.read_text() + MODEL)
    project.bench(
        *("--model=played", "--mode=with-skill", "--exposure=zero-shot", "-n", "2"),
        runtime="minimal",
    ).assert_outcomes(passed=1)
    run = project.path / "run"
    (record,) = project.records()
    (folder,) = (run / "trials").iterdir()
    places: dict[str, Any] = {
        "plan": json.loads((run / "plan.json").read_text()),
        "report": json.loads((run / "report.json").read_text()),
        "record": {**record, "closed": any(each["event"] == "closed" for each in project.lines())},
    }
    missing = []
    for table, item, fields in rows():
        for field in fields:
            kind, _, name = field.partition(" ")
            if name:
                assert kind == "trial"
                found = bool(read(folder, name))
            else:
                found = lookup(places, field)
            if not found:
                missing.append(f"{table}, {item}: {field}")
    assert not missing
    observed = record["observed"]
    assert observed["run"]["workers"] == 2
    assert observed["exposure"] == "zero-shot"
    assert observed["adapter"]["class"] == "pytest_agentbench.runtimes.minimal.Minimal"
    assert observed["judge"] == "scripted"
    assert places["report"]["rows"][0]["labels"] == ["clean", "subset", "zero-shot"]


def lookup(places: dict[str, Any], field: str) -> bool:
    place, _, rest = field.partition(".")
    value, names = (
        (places[place], rest) if place in ("plan", "report") else (places["record"], field)
    )
    for name in names.split("."):
        value = value[int(name)] if isinstance(value, list) else value.get(name, ...)
        if value is ...:
            return False
    return True


def test_a_label_that_there_is_not_is_refused(project: Project) -> None:
    result = project.bench("--exposure=fresh")
    assert result.ret != 0
    result.stderr.fnmatch_lines(
        ["*--exposure: 'fresh' is not known; allowed: zero-shot, prompt-tuned-on-dev, benchmark-*"]
    )


@pytest.mark.parametrize("said", ["", "benchmark-exposed"])
def test_what_nobody_declared_is_no_label(project: Project, said: str) -> None:
    project.bench("-q", *([f"--exposure={said}"] if said else [])).assert_outcomes(passed=1)
    report = json.loads((project.path / "run" / "report.json").read_text())
    assert report["rows"][0]["labels"] == ["clean", "subset", *([said] if said else [])]
