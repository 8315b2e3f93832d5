"""The skills beside shipped scenarios: what they are worth to a model that knows nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_agentbench.lint_skills import alike, leaks
from pytest_agentbench.scenario.load import load
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.scenario.source import is_scenario
from pytest_agentbench.skills.safety import findings
from tests.project import Project
from tests.test_seeds import check

SHIPPED = Path(__file__).parent.parent / "scenarios"
SCENARIOS = [load(path) for path in sorted(SHIPPED.rglob("*")) if is_scenario(path)]
WITH_SKILLS = [scenario for scenario in SCENARIOS if scenario.skills]
SKILLS = sorted({folder for scenario in WITH_SKILLS for folder in scenario.skills})
MODES = ("baseline", "with-skill", "irrelevant-skill")
TABLE = "[tool.agentbench.models.app]\nbackend = 'scripted'\npolicy = 'apprentice'\n"


#: Scenarios that share a skill with their siblings, and nothing else.
SIBLINGS = {scenario.id: scenario for scenario in WITH_SKILLS if scenario.siblings}


def test_there_are_enough() -> None:
    assert len(WITH_SKILLS) >= 12
    assert len({scenario.family for scenario in SIBLINGS.values()}) >= 3


@pytest.mark.parametrize("name", SIBLINGS)
def test_siblings_share_the_skill_and_neither_inputs_nor_answers(name: str) -> None:
    scenario = SIBLINGS[name]
    others = [SIBLINGS[other] for other in scenario.siblings]
    assert {(other.family, other.skills) for other in others} == {
        (scenario.family, scenario.skills)
    }
    assert list(alike(scenario, others)) == []


@pytest.mark.parametrize("folder", SKILLS, ids=lambda folder: folder.name)
def test_their_form_is_right_and_nothing_speaks_against_them(folder: Path) -> None:
    assert check(folder) == (0, "the form is right\n")
    assert findings(folder) == ()
    assert len((folder / "SKILL.md").read_text("utf-8").splitlines()) < 100


@pytest.mark.parametrize("scenario", WITH_SKILLS, ids=lambda scenario: scenario.id)
def test_they_hold_no_answers(scenario: Scenario) -> None:
    assert list(leaks(scenario)) == []


Scores = dict[str, dict[str, float]]


def bench(project: Project, scenarios: list[Scenario], *options: str) -> Scores:
    """What an apprentice comes to with the agent ``minimal``, by scenario and mode."""
    project.run(
        *(str(scenario.path) for scenario in scenarios),
        *(
            f"--rootdir={project.path}",
            f"-c{project.path / 'pyproject.toml'}",
            "-pno:cacheprovider",
        ),
        *("--runtime=minimal", "--model=app", "--run-dir=run", "-q", "--tb=no", *options),
    )
    scores: Scores = {}
    for record in project.records():
        scores.setdefault(record["scenario"]["id"], {})[record["mode"]] = record["grade"]["score"]
    return scores


def test_the_right_skill_helps_and_another_does_not(project: Project) -> None:
    project.write("pyproject.toml", TABLE)
    scores = bench(project, WITH_SKILLS, "-n2", *(f"--mode={mode}" for mode in MODES))
    assert sorted(scores) == sorted(scenario.id for scenario in WITH_SKILLS)
    for name, score in scores.items():
        assert set(score) == set(MODES), name
        assert score["with-skill"] - score["baseline"] >= 0.3, (name, score)
        assert abs(score["irrelevant-skill"] - score["baseline"]) < 0.02, (name, score)
        if name in SIBLINGS:
            assert score["with-skill"] > 0.95, (name, score)


def test_a_skill_authored_on_one_sibling_helps_the_other(project: Project) -> None:
    first, second = SIBLINGS["badge_audit"], SIBLINGS["depot_badges"]
    project.write("pyproject.toml", f"{TABLE}lesson = '{first.skills[0] / 'SKILL.md'}'\n")
    library = "--skill-library=library"
    assert bench(project, [first], library, "--mode=preskill") == {first.id: {"preskill": 1.0}}
    shutil.rmtree(project.path / "run")
    scores = bench(project, [second], library, "--mode=baseline", "--transfer")
    assert scores == {second.id: {"baseline": 0.0, "transfer": 1.0}}
