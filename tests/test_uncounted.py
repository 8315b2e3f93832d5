"""A published task of the category ``sanity`` is run, told, and in no figure."""

from __future__ import annotations

import json
from typing import Any

from tests.project import Project

TASK = """\
---
id: {id}
name: {id}
category: {category}
grading_type: automated
timeout_seconds: 20
workspace_files: []
---

## Prompt

Say that you are ready.

## Automated Checks

```python
def grade(transcript, workspace_path):
    return {{"ready": {value}}}
```
"""


def prepare(project: Project) -> None:
    (project.path / "scenarios" / "shout.yaml").unlink()
    for id_, category, value in (("task_00_ready", "sanity", 1.0), ("task_01_work", "office", 0.0)):
        text = TASK.format(id=id_, category=category, value=value)
        (project.path / "scenarios" / f"{id_}.md").write_text(text)


def row(project: Project) -> dict[str, Any]:
    (found,) = json.loads((project.path / "run" / "report.json").read_text())["rows"]
    return dict(found)


def test_a_sanity_task_is_in_no_figure_and_told_beside_them(project: Project) -> None:
    prepare(project)
    result = project.bench("--trials=2", runtime="nop")
    result.assert_outcomes(passed=2, failed=2)
    found = row(project)
    assert (found["scenarios"], found["planned"], found["graded"], found["passed"]) == (1, 2, 2, 0)
    assert (found["score"], found["coverage"], found["pass_at"]["1"]["value"]) == (0, 1, 0)
    assert found["uncounted"] == [
        {"scenario": "task_00_ready", "trials": 2, "graded": 2, "passed": 2}
    ]
    shown = " ".join(result.stdout.str().split())
    assert "run, and in no figure above nop · baseline: task_00_ready passed 2 of 2 trials" in shown


def test_published_scoring_counts_it_as_the_published_harness_does(project: Project) -> None:
    prepare(project)
    result = project.bench("--scoring=published", runtime="nop")
    found = row(project)
    assert (found["scenarios"], found["score"], found["uncounted"]) == (2, 0.5, [])
    assert "in no figure above" not in result.stdout.str()


def test_a_run_of_nothing_else_has_no_score(project: Project) -> None:
    prepare(project)
    (project.path / "scenarios" / "task_01_work.md").unlink()
    project.bench(runtime="nop").assert_outcomes(passed=1)
    found = row(project)
    assert (found["scenarios"], found["planned"], found["score"]) == (0, 0, None)
    assert found["uncounted"][0]["passed"] == 1
