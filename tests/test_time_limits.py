"""Time limits that end trials are told, and can be raised on record."""

from __future__ import annotations

import json

from tests.project import Project

SLOW = """
[tool.agentbench.runtimes.slow]
adapter = "command"
argv = ["sleep", "2"]
"""


def prepare(project: Project) -> None:
    config = project.path / "pyproject.toml"
    config.write_text(config.read_text() + SLOW)
    path = project.path / "scenarios" / "shout.yaml"
    path.write_text(path.read_text().replace("timeout_seconds: 30", "timeout_seconds: 1"))
    project.scenario("whisper")


def test_a_limit_that_stops_most_trials_is_told_with_what_had_elapsed(project: Project) -> None:
    prepare(project)
    result = project.bench("--trials=2", "-n", "2", runtime="slow")
    shown = " ".join(result.stdout.str().split())
    assert "time limits that stopped half of a scenario's trials or more" in shown
    assert "slow · baseline: shout (2 of 2 trials at 1.0 s, after 1." in shown
    assert "--timeout-floor SECONDS gives every trial at least so long" in shown
    (row,) = json.loads((project.path / "run" / "report.json").read_text())["rows"]
    (told,) = row["short_limits"]
    assert (told["scenario"], told["limit"], told["stopped"], told["trials"]) == ("shout", 1, 2, 2)
    assert 1.0 <= told["elapsed"] < 4.0


def test_a_floor_raises_limits_and_is_on_record(project: Project) -> None:
    prepare(project)
    result = project.bench("--timeout-floor=20", runtime="slow")
    result.assert_outcomes(failed=2)
    assert "time limits that stopped" not in result.stdout.str()
    assert "non-standard limits" in " ".join(result.stdout.str().split())
    by_id = {record["scenario"]["id"]: record for record in project.records()}
    assert {name: record["limit"] for name, record in by_id.items()} == {"shout": 20, "whisper": 30}
    assert by_id["shout"]["status"] == "completed"
    assert by_id["shout"]["lock"]["timeout_floor"] == "20.0"
    assert by_id["shout"]["observed"]["run"]["timeout_floor"] == 20
    project.bench("--timeout-floor=-1").stderr.fnmatch_lines(["*--timeout-floor*"])
