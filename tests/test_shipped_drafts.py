"""Drafts from pairs of shipped scenarios, each with its curated skill, and what they are worth."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.scenario.load import load
from pytest_agentbench.scenario.rubric_contrast import draft_problems
from pytest_agentbench.scenario.rubric_file import load_rubric

ROOT = Path(__file__).parent.parent
SCENARIOS = (
    "scenarios/planning/cluster_move.yaml",
    "scenarios/synthesis/incident_timeline.yaml",
    "scenarios/tool_use/badge_audit.yaml",
)
TABLE = """\
[tool.pytest.ini_options]
addopts = "-p no:cacheprovider"
[tool.agentbench.models.apprentice]
backend = "scripted"
policy = "apprentice"
[tool.agentbench.models.drafter]
backend = "scripted"
policy = "drafter"
[tool.agentbench.models.rule]
backend = "scripted"
policy = "judge"
[tool.agentbench.models.rule.evidence]
hands_over_a_result = "out/[a-z_]+[.](json|csv)"
works_by_a_method = "python3"
reports_the_end = "I d[a-z ]*"
leaves_inputs_alone = "[a-z_]+[.](csv|md|json)"
gives_up_untried = "I do not know"
"""


def run(folder: Path, *argv: str) -> str:
    done = subprocess.run(
        (sys.executable, "-m", *argv), cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def bench(folder: Path, into: str, *more: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Grades by scenario and mode of a run in both arms."""
    options = ("--runtime=minimal", "--model=apprentice", "--gate=none", f"--run-dir={into}")
    modes = ("--mode=baseline", "--mode=with-skill")
    run(folder, "pytest", *SCENARIOS, *options, *modes, *more)
    text = (folder / into / "ledger.jsonl").read_text("utf-8")
    records = [json.loads(line) for line in text.splitlines()]
    return {(r["scenario"]["id"], r["mode"]): r["grade"] for r in records if "grade" in r}


@pytest.fixture(scope="module")
def drafted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the suite in which three rubrics are drafts of finished pairs."""
    folder = tmp_path_factory.mktemp("shipped")
    for part in ("scenarios", "checkers"):
        shutil.copytree(ROOT / part, folder / part)
    (folder / "pyproject.toml").write_text(TABLE)
    bench(folder, "pair")
    for path in SCENARIOS:
        rubric = path.replace(".yaml", ".rubric.yaml")
        (folder / rubric).unlink(missing_ok=True)
        arms = ("--with", "pair", "--without", "pair", "--model=drafter", "-o", rubric)
        run(folder, "pytest_agentbench.cli", "rubric", "draft", path, *arms)
    return folder


def sorts(folder: Path, path: str) -> Sequence[str]:
    rubric = load_rubric(folder / path.replace(".yaml", ".rubric.yaml"))
    assert rubric.gatekeeper is not None
    assert draft_problems(rubric, load(folder / path)) == ()
    return [each.criterion_type for each in rubric.criteria]


@pytest.mark.parametrize("path", SCENARIOS)
def test_a_draft_has_signals_and_baselines(drafted: Path, path: str) -> None:
    found = sorts(drafted, path)
    assert found.count("skill_signal") >= 2
    assert found.count("shared_baseline") >= 2


def test_the_arm_with_the_skill_scores_higher_by_the_draft(drafted: Path) -> None:
    grades = bench(drafted, "judged", "--judge=rule")
    assert len(grades) == 2 * len(SCENARIOS)
    for path in SCENARIOS:
        name = Path(path).stem
        with_skill = grades[name, "with-skill"]["rubric"]
        without = grades[name, "baseline"]["rubric"]
        assert with_skill["message"] == without["message"] == ""
        for score in ("completion_loose", "completion_strict", "process_loose", "gated"):
            assert with_skill[score] > without[score], (name, score)
