"""The file that tells how the first run went: what it shows, and what it must not give away."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Execution
from pytest_agentbench.first_run import first_run
from pytest_agentbench.grade import CheckResult, Grade
from pytest_agentbench.scenario.load import load
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.scenario.source import is_scenario
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Event, EventKind, Trace
from tests.project import Project

ROOT = Path(__file__).parent.parent
SHIPPED = ROOT / "scenarios"
#: Shorter values are words that stand everywhere.
LEAST = 6


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def secrets(scenario: Scenario) -> set[str]:
    """What only the checks of a scenario know."""
    said = {
        text
        for check in scenario.checks
        for name, value in check.params.items()
        if name != "function"  # a name in code that is looked for whole
        for text in texts(value)
    }
    code = [Path(c.params["file"]) for c in scenario.checks if c.type == "python"]
    if scenario.grader is not None:
        said.update((scenario.grader.source or "").splitlines())
        code += [scenario.grader.path] if scenario.grader.path else []
    for file in code:
        said.update(file.read_text("utf-8").splitlines())
    known = {check.id for check in scenario.checks}
    return {
        text.strip()
        for text in said
        if len(text.strip()) >= LEAST and text.strip() not in scenario.prompt
    } - known


def test_no_shipped_scenario_gives_anything_away(project: Project) -> None:
    result = project.run(
        *(str(SHIPPED), "--runtime=nop", "--mode=postskill", "--gate=none", "-n2"),
        *(f"--rootdir={ROOT}", "-p", "no:cacheprovider", f"--run-dir={project.path / 'all'}"),
    )
    shown = {}
    for path in (project.path / "all").glob("trials/*/phases/postskill_first/first_run.json"):
        data = json.loads(path.read_text("utf-8"))
        shown[data["task_id"]] = data
    scenarios = [load(path) for path in sorted(SHIPPED.rglob("*")) if is_scenario(path)]
    assert set(shown) == {scenario.id for scenario in scenarios}, result.outlines[-20:]
    for scenario in scenarios:
        data = shown[scenario.id]
        assert data["grade"]["breakdown"], scenario.id
        data.pop("prompt")
        text = json.dumps(data, ensure_ascii=False)
        text = text.replace('"status": "completed"', "")
        leaks = [
            secret
            for secret in sorted(secrets(scenario))
            if re.search(rf"(?<!\w){re.escape(secret)}(?!\w)", text)
        ]
        assert not leaks, (scenario.id, leaks)


def run(events: int = 0) -> Execution:
    told = tuple(Event(kind=EventKind.ASSISTANT, text=f"word {n}\n x") for n in range(events))
    return Execution(status=Status.COMPLETED, seconds=1.26, trace=Trace(events=told))


@pytest.fixture
def scenario(project: Project) -> Scenario:
    return load(project.path / "scenarios" / "shout.yaml")


def told(scenario: Scenario, tmp_path: Path, **kw: Any) -> dict[str, Any]:
    values = {"execution": run(), "grade": None, "outputs": (), "workspace": tmp_path} | kw
    data: dict[str, Any] = json.loads(first_run(scenario, **values))
    return data


def test_the_beginning_and_the_end_are_shown(scenario: Scenario, tmp_path: Path) -> None:
    short = told(scenario, tmp_path, execution=run(24))["transcript_summary"]
    assert short == [f"assistant: word {n} x" for n in range(24)]
    long = told(scenario, tmp_path, execution=run(40))["transcript_summary"]
    assert (long[:12], long[13:]) == (short[:12], [f"assistant: word {n} x" for n in range(28, 40)])
    assert long[12] == "(16 more)"


def test_of_a_check_only_its_verdict_is_shown(scenario: Scenario, tmp_path: Path) -> None:
    check = CheckResult(
        id="word",
        type="json_path",
        points=1.0,
        earned=0.0,
        passed=False,
        detail="the word is not LOWER",
        expected="LOWER",
        found="lower",
    )
    grade = Grade(policy="composite", threshold=0.6, checks=(check,), score=0.12345, notes="LOWER")
    data = told(scenario, tmp_path, grade=grade)
    assert data["grade"] == {
        "score": 0.1235,
        "max_score": 1.0,
        "passed": False,
        "breakdown": {"word": False},
        "sub_problem_scores": {},
    }
    assert "LOWER" not in json.dumps(data)
    assert told(scenario, tmp_path)["grade"] is None


def test_what_the_agent_wrote_is_shown_in_part(scenario: Scenario, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("é" * 3000)
    (tmp_path / "bytes").write_bytes(b"a\xff\xfe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    names = ["long.txt", "bytes", "link", "bad\udcff", *(f"x{n}" for n in range(50))]
    data = told(scenario, tmp_path, outputs=names)
    shown = {output["path"]: output for output in data["outputs"]}
    assert len(shown) == 40
    assert shown["long.txt"] == {
        "path": "long.txt",
        "size_bytes": 6000,
        "content_preview": "é" * 1000,
    }
    assert shown["bytes"]["content_preview"] == "a\ufffd\ufffd"
    assert "error" in shown["link"]
    assert "root" not in json.dumps(shown["link"])
    assert "error" in shown["bad\\udcff"]


def test_what_a_judge_goes_by_is_shown_under_published_scoring_alone(
    project: Project, tmp_path: Path
) -> None:
    path = project.write(
        "scenarios/task_sum.md",
        "---\nid: task_sum\n---\n\n## Prompt\n\nAdd up.\n\n## Expected Behavior\n\nIt is 42000.\n\n"
        "## Grading Criteria\n\n- [ ] The sum is 42000\n\n## Automated Checks\n\n```python\n"
        "def grade(transcript, workspace_path):\n    return {'sum': 0.0}\n```\n",
    )
    scenario = load(path)
    assert "42000" not in json.dumps(told(scenario, tmp_path))
    published = told(scenario, tmp_path, published=True)
    assert published["grading_criteria"] == ["The sum is 42000"]
    assert published["expected_behavior"] == "It is 42000."
