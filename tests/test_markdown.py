from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_agentbench.scenario import keys
from pytest_agentbench.scenario.load import load
from pytest_agentbench.scenario.model import (
    CheckSpec,
    Form,
    GraderCode,
    InputFile,
    Probe,
    Scenario,
    ScenarioError,
    Step,
)

Loader = Callable[[str], Scenario]

TASK = """\
---
id: task_03_totals
name: Totals
category: data_analysis
grading_type: hybrid
grading_weights:
  automated: 0.85
  llm_judge: 0.15
timeout_seconds: 600
sub_problems: 2
skill_category: arithmetic
task_family: Data/Analytics
workspace_files:
  - assets/totals/a.csv
  - {path: notes.txt, content: "x"}
  - {source: assets/totals/b.csv, dest: in/b.csv}
---

# Totals

An introduction that nobody reads.

---

## Prompt

Write `total.md` so that it begins with

```markdown
## Total

12
```

~~~
```
## Prompt
~~~

---

## Expected Behavior

Adds what is approved.

---

## Sub-Problems

### Sub-Problem 1: Read the table

Words.

### Sub-Problem 2: Add it up

More words.

## Grading Criteria

- [ ] The total is right
- [x] The form is kept

## Automated Checks

```python
def grade(transcript, workspace_path):
    return {"sub_1_total": 1.0}
```

## LLM Judge Rubric

Is it clear?

---
"""
SOURCE = 'def grade(transcript, workspace_path):\n    return {"sub_1_total": 1.0}\n'

NATIVE = """\
---
agentbench: 1
dimension: planning
tags: [office]
---
## Prompt

Plan the week.

## Checks

```yaml
- {id: plan, type: file_exists, path: plan.md}
- id: calm
  type: response_excludes
  pattern: panic
```

## Solution

Some words first.

```yaml
- {write: plan.md, content: "Monday"}
```

## Probes

```yaml
- {name: talks only, fails: [plan], steps: [{say: Monday}]}
```
"""


@pytest.fixture
def task(tmp_path: Path) -> Loader:
    """Loads a text as a task of a published suite."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / "assets/totals").mkdir(parents=True, exist_ok=True)
        (tmp_path / "assets/totals" / name).write_text("1")
    path = tmp_path / "tasks/task_03.md"
    path.parent.mkdir()

    def load_text(text: str) -> Scenario:
        path.write_bytes(text.encode())
        return load(path)

    return load_text


def test_a_published_task_means_what_its_author_meant(tmp_path: Path, task: Loader) -> None:
    scenario = task(TASK)
    assets = tmp_path / "assets/totals"
    assert scenario == Scenario(
        id="task_03_totals",
        name="Totals",
        path=tmp_path / "tasks/task_03.md",
        prompt=(
            "Write `total.md` so that it begins with\n\n"
            "```markdown\n## Total\n\n12\n```\n\n~~~\n```\n## Prompt\n~~~"
        ),
        form=Form.EVOCLAW,
        family="Data_Analytics",
        inputs=(
            InputFile(dest="assets/totals/a.csv", source=assets / "a.csv"),
            InputFile(dest="in/b.csv", source=assets / "b.csv"),
            InputFile(dest="notes.txt", content=b"x"),
        ),
        timeout_seconds=600.0,
        policy="mean",
        grader=GraderCode(source=SOURCE, api="evoclaw"),
        hybrid=(0.85, 0.15),
        rubric="Is it clear?",
        expected_outcome="Adds what is approved.",
        criteria=("The total is right", "The form is kept"),
        sub_problems=("Read the table", "Add it up"),
        lines=scenario.lines,
        extra={
            "category": "data_analysis",
            "sub_problems": 2,
            "skill_category": "arithmetic",
            "task_family": "Data/Analytics",
            "family": "Data/Analytics",
        },
    )
    assert scenario.threshold == 1.0


def test_windows_line_ends_change_nothing(task: Loader) -> None:
    assert task(TASK.replace("\n", "\r\n")) == task(TASK)


@pytest.mark.parametrize(
    ("front", "weights"),
    [
        ("grading_type: automated", None),
        ("grading_type: hybrid", (0.5, 0.5)),
        ("grading_type: hybrid\ngrading_weights: {automated: 3}", (3.0, 0.5)),
        ("grading_type: hybrid\ngrading_weights: {automated: 0, llm_judge: 0}", (0.5, 0.5)),
        ("grading_type: llm_judge", (0.0, 1.0)),
    ],
)
def test_weights_of_the_judge(
    task: Loader, front: str, weights: tuple[float, float] | None
) -> None:
    body = f"## Prompt\n\nDo it.\n\n## Automated Checks\n\n```python\n{SOURCE}```\n"
    assert task(f"---\n{front}\n---\n{body}").hybrid == weights


def test_defaults_of_a_published_task(task: Loader) -> None:
    scenario = task(
        f"---\nname: T\n---\n## Prompt\n\nDo it.\n\n## Automated Checks\n```python\n{SOURCE}```\n"
    )
    assert (scenario.id, scenario.dimension, scenario.timeout_seconds) == ("task_03", "", 120)


def test_a_published_task_may_say_what_native_files_say(task: Loader) -> None:
    front = "dimension: safety\ndifficulty: hard\nweight: 2\npass_threshold: 0.5\n"
    scenario = task(TASK.replace("name: Totals\n", front))
    assert (scenario.dimension, scenario.difficulty) == ("safety", "hard")
    assert (scenario.weight, scenario.threshold) == (2.0, 0.5)


def test_native_task_markdown(tmp_path: Path) -> None:
    path = tmp_path / "task_week.md"
    path.write_text(NATIVE)
    scenario = load(path)
    assert scenario == Scenario(
        id="task_week",
        name="task_week",
        path=path,
        prompt="Plan the week.",
        form=Form.NATIVE,
        dimension="planning",
        tags=("office",),
        policy="mean",
        checks=(
            CheckSpec(id="plan", type="file_exists", params={"path": "plan.md"}),
            CheckSpec(id="calm", type="response_excludes", params={"pattern": "panic"}),
        ),
        solution=(Step(verb="write", path="plan.md", content="Monday"),),
        probes=(
            Probe(name="talks only", fails=("plan",), steps=(Step(verb="say", text="Monday"),)),
        ),
        lines=scenario.lines,
    )
    assert scenario.lines["prompt"] == 6
    assert scenario.lines["checks"] == 13


def test_native_task_markdown_may_be_composite(tmp_path: Path) -> None:
    path = tmp_path / "task_week.md"
    path.write_text(NATIVE.replace("tags: [office]", "policy: composite"))
    assert load(path).threshold == 0.6


FRONT = NATIVE[: NATIVE.index("## Prompt")]
PROMPT = "## Prompt\n\nDo it.\n"
HEADINGS = (
    "Prompt, Expected Behavior, Sub-Problems, Grading Criteria, Automated Checks, "
    "LLM Judge Rubric, Checks, Solution, Probes, Alternatives"
)

MALFORMED: dict[str, tuple[str, str]] = {
    "no front matter": (
        "# Title\n",
        "task_case.md:1: must begin with front matter between two lines `---`",
    ),
    "open front matter": (
        "---\nid: x\n## Prompt\n",
        "task_case.md:1: the front matter is not closed by a line `---`",
    ),
    "a list in front": (
        "---\n- x\n---\n" + PROMPT,
        "task_case.md:2: the front matter must be a mapping, not a list",
    ),
    "nothing in front": (
        "---\n---\n" + PROMPT,
        "task_case.md:2: no value is written here",
    ),
    "bad YAML in front": (
        "---\nid: x\nname: [\n---\n" + PROMPT,
        ("task_case.md:4: not valid YAML: did not find expected node content "
        "while parsing a flow node that begins in line 4"),
    ),
    "unknown key in front": (
        "---\ntimeout: 3\n---\n" + PROMPT,
        "task_case.md:2: `timeout` is not a known key; did you mean `timeout_seconds`? "
        "Allowed: " + ", ".join(keys.EVOCLAW),
    ),
    "prompt in front": (
        FRONT.replace("tags: [office]", "prompt: x") + PROMPT,
        "task_case.md:4: `prompt` is not a known key; allowed: " + ", ".join(keys.TASK_NATIVE),
    ),
    "no prompt": (FRONT + "## Checks\n", "task_case.md: there is no section `## Prompt`"),
    "empty prompt": (
        FRONT + "## Prompt\n\n---\n\n## Checks\n```yaml\n[]\n```\n",
        "task_case.md:6: `prompt` must be text to send to an agent; it is empty or holds NUL",
    ),
    "prompt twice": (
        FRONT + PROMPT + PROMPT,
        "task_case.md:9: `## Prompt` is there twice, first in line 6",
    ),
    "unknown section": (
        FRONT + PROMPT + "## Check\n",
        (f"task_case.md:9: `## Check` is not a known section; did you mean `Checks`? "
        f"Allowed: {HEADINGS}"),
    ),
    "open block": (
        FRONT + PROMPT + "```\n## Checks\n",
        "task_case.md:9: the block that opens here is not closed",
    ),
    "checks without a block": (
        FRONT + PROMPT + "## Checks\n\n- a\n",
        "task_case.md:9: `## Checks` needs a block ```yaml that lists the checks",
    ),
    "bad line in a block": (
        NATIVE.replace("pattern: panic", "patern: panic"),
        ("task_case.md:16: `checks[1].patern` is no parameter of response_excludes; "
        "did you mean `pattern`? Allowed: pattern, patterns, id, type, points, category, "
        "severity, guard, description"),
    ),
    "automated checks without grade": (
        FRONT + PROMPT + "## Automated Checks\n```python\ndef check(): ...\n```\n",
        "task_case.md:9: `## Automated Checks` needs a block ```python that defines grade",
    ),
    "nothing grades": (
        FRONT + PROMPT,
        "task_case.md: nothing grades this; give it a section that holds checks",
    ),
    "missing input": (
        FRONT.replace("tags: [office]", "workspace_files: [assets/none.csv]") + PROMPT
        + "## Checks\n```yaml\n- {id: a, type: file_exists, path: a}\n```\n",
        ("task_case.md:4: `workspace_files[0]` 'assets/none.csv' does not exist; "
        "looked in project/"),
    ),
    "unknown grading": (
        FRONT.replace("tags: [office]", "grading_type: judge") + PROMPT,
        ("task_case.md:4: `grading_type` cannot be 'judge'; did you mean `llm_judge`? "
        "Allowed: automated, hybrid, llm_judge"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), MALFORMED.values(), ids=MALFORMED.keys())
def test_the_whole_message(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "project/task_case.md"
    path.parent.mkdir()
    (path.parent / "pyproject.toml").touch()
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert str(caught.value) == message
