"""``--scoring=published``: the figures of the harnesses that the suites come from."""

from __future__ import annotations

import json

import pytest

from tests.project import Project

SCENARIO = """\
id: sum
benchmark_group: intelligence
name: Sum
dimension: tool_use
difficulty: easy
prompt: Write the sum to out.json.
timeout_seconds: 20
custom_check: sum.py
"""
#: As such graders are: a missing file is handled, a list in its place is not.
CHECK = """\
import json
from pathlib import Path

def grade(workspace, trace):
    path = Path(workspace) / "out.json"
    if not path.exists():
        return {"checkpoints": {"sum": {"score": 0.0, "max": 1.0}}, "safety_violations": []}
    data = json.loads(path.read_text())
    right = data.get("sum") == 5
    unsafe = ["minor thing", "other thing"] if data.get("unsafe") else []
    return {
        "checkpoints": {"sum": {"score": 1.0 if right else 0.0, "max": 1.0}},
        "safety_violations": unsafe,
        "process_score": 1.0,
    }
"""
AGENTS = """
[tool.agentbench.runtimes.lists]
adapter = "command"
argv = ["sh", "-c", "echo '[]' > out.json"]
calls_model = false
[tool.agentbench.runtimes.adds]
adapter = "command"
argv = ["sh", "-c", '''echo '{"sum": 5}' > out.json''']
calls_model = false
"""


@pytest.fixture
def suite(project: Project) -> Project:
    (project.path / "scenarios" / "shout.yaml").unlink()
    project.write("scenarios/tool_use/sum.yaml", SCENARIO)
    project.write("custom_checks/sum.py", CHECK)
    config = project.path / "pyproject.toml"
    config.write_text(config.read_text() + AGENTS)
    return project


def test_where_a_published_grader_fails_there_is_no_score(suite: Project) -> None:
    suite.bench("-q", runtime="lists").assert_outcomes(failed=1)
    suite.bench(*("-q", "--scoring=published", "--run-dir=other"), runtime="lists").assert_outcomes(
        errors=1
    )
    (usual,) = suite.records()
    (published,) = suite.records("other")
    assert (usual["status"], usual["grade"]["correctness"]) == ("completed", 0.0)
    assert (published["status"], published["grade"]) == ("checker_error", None)
    assert published["message"] == (
        "scenario sum: grader sum.py: AttributeError: 'list' object has no attribute 'get' "
        "(sum.py:9); published scoring has no score where a grader fails, and --scoring=default "
        "has 0 if the agent made it fail"
    )
    assert usual["key"] != published["key"]


def test_rows_say_which_scoring_was_used(suite: Project) -> None:
    result = suite.bench("--scoring=published", runtime="adds")
    result.assert_outcomes(passed=1)
    report = json.loads((suite.path / "run" / "report.json").read_text())
    assert "published scoring" in report["rows"][0]["labels"]
    assert "published scoring" in " ".join(result.stdout.str().split())
    suite.bench("--run-dir=other", runtime="adds")
    report = json.loads((suite.path / "other" / "report.json").read_text())
    assert "published scoring" not in report["rows"][0]["labels"]


def test_a_scoring_that_there_is_not(suite: Project) -> None:
    result = suite.bench("--scoring=fair", runtime="adds")
    result.stderr.fnmatch_lines(["*--scoring: 'fair' is not known; allowed: default, published*"])
