"""Modes of several phases: skills are written, found out, given, and watched."""

from __future__ import annotations

import json
from typing import Any

from tests.project import Project

PHASES = "def pytest_agentbench_modes"


def facts(record: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(p["name"], p.get("role", "execute"), p["status"]) for p in record["phases"]]


def test_baseline_preskill_and_postskill(project: Project) -> None:
    modes = ("--mode=baseline", "--mode=preskill", "--mode=postskill")
    project.bench("--model=scripted", *modes, runtime="minimal").assert_outcomes(passed=3)
    by_mode = {record["mode"]: record for record in project.records()}
    assert facts(by_mode["preskill"]) == [
        ("preskill_author", "author", "completed"),
        ("preskill_execute", "execute", "completed"),
    ]
    assert facts(by_mode["postskill"]) == [
        ("postskill_first", "execute", "completed"),
        ("postskill_summary", "summarise", "completed"),
        ("postskill_second", "execute", "completed"),
    ]
    assert by_mode["postskill"]["phases"][0]["score"] == 1.0
    print(json.dumps(by_mode["postskill"]["phases"], indent=1))
