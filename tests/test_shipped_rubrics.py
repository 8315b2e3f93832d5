"""The rubrics of the shipped scenarios keep the rules that they are held to."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pytest_agentbench.scenario.load import load
from pytest_agentbench.scenario.rubric_contrast import problems
from pytest_agentbench.scenario.schema import validate_rubric

SCENARIOS = Path(__file__).parent.parent / "scenarios"
RUBRICS = sorted(SCENARIOS.rglob("*.rubric.yaml"))


def test_eight_scenarios_or_more_carry_a_rubric() -> None:
    assert len(RUBRICS) >= 8


@pytest.mark.parametrize("path", RUBRICS, ids=lambda path: path.name.partition(".")[0])
def test_a_rubric_is_of_both_kinds_and_gives_nothing_away(path: Path) -> None:
    scenario = load(path.with_name(path.name.replace(".rubric", "")))
    rubric = scenario.atomic_rubric
    assert rubric is not None
    assert rubric.path == path
    assert [str(each) for each in problems(rubric, scenario)] == []
    assert validate_rubric(yaml.safe_load(path.read_text("utf-8"))) == ()
    for kind, judged in rubric.judged.items():
        assert judged, f"no criterion of {kind} is a judge's"
        assert len(rubric.of(kind)) > len(judged), f"no criterion of {kind} has a check"
    assert rubric.gatekeeper is not None
    assert rubric.gatekeeper.check is not None
    assert any(each.must for each in rubric.criteria)
