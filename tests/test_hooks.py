"""What third parties offer through hooks, from a ``conftest.py``."""

from __future__ import annotations

import pytest

from tests.project import Project

JUDGED = """\
---
agentbench: 1
id: judged
dimension: planning
policy: mean
grading_type: hybrid
pass_threshold: 0.8
---
## Prompt

Say done.

## Checks

```yaml
- {id: said, type: response_contains, pattern: done}
```

## LLM Judge Rubric

Is it good?

## Solution

```yaml
- {say: done}
```
"""


def test_a_section_of_a_report_stands_below_the_scoreboard(
    project: Project, workers: list[str]
) -> None:
    project.write(
        "conftest.py",
        "def pytest_agentbench_report_section(scoreboard):\n"
        "    return f'mine: {len(scoreboard.rows)} row\\nand a second line'\n",
    )
    result = project.bench(*workers)
    result.stdout.fnmatch_lines(
        ["*agentbench scoreboard*", "score *", "mine: 1 row", "and a second line"]
    )


def test_a_sandbox_of_a_third_party(project: Project, workers: list[str]) -> None:
    project.write(
        "conftest.py",
        "from pytest_agentbench.sandbox.none import Plain\n"
        "class Box(Plain):\n    name = 'box'\n"
        "def pytest_agentbench_sandboxes(config): return {'box': Box}\n",
    )
    project.bench("--sandbox=box", *workers).assert_outcomes(passed=1)
    assert [r["sandbox"] for r in project.records()] == ["box"]


def test_a_mode_of_a_third_party(project: Project, workers: list[str]) -> None:
    project.write(
        "conftest.py",
        "from pytest_agentbench.modes import Mode, Stage\n"
        "def pytest_agentbench_modes(config):\n"
        "    return (Mode(name='polite', stages=(Stage(name='polite', prompt_prefix='Please '),)),)\n",
    )
    project.write(
        "pyproject.toml",
        "[tool.agentbench.runtimes.echo]\nadapter = 'command'\nargv = ['cat', '{prompt_file}']\n",
    )
    project.bench("--mode=polite", *workers, runtime="echo").assert_outcomes(failed=1)
    (record,) = project.records()
    said = project.path / "run" / "trials" / record["key"] / "stdout"
    assert said.read_text().startswith("Please Copy the word")


def test_a_judge_of_a_third_party(project: Project, workers: list[str]) -> None:
    project.write("scenarios/task_judged.md", JUDGED)
    project.write(
        "conftest.py",
        "from pytest_agentbench.grading.judge import ScriptedJudge\n"
        "def pytest_agentbench_judge(config): return ScriptedJudge(default=0.75)\n",
    )
    project.bench("-k", "judged", *workers).assert_outcomes(passed=1)
    assert [r["grade"]["score"] for r in project.records()] == [pytest.approx(0.875)]


@pytest.mark.parametrize(
    ("stages", "told"),
    [
        (
            "Stage(name='real'), Stage(name='cool', graded=False)",
            "its last stage alone must be graded; its stages are: real (graded), cool",
        ),
        (
            "Stage(name='warm', graded=False),",
            "its last stage alone must be graded; its stages are: warm",
        ),
        ("", "its last stage alone must be graded; its stages are: none"),
        (
            "Stage(name='write', role='author'),",
            "its graded stage 'write' must have the role execute",
        ),
        (
            "Stage(name='same', graded=False), Stage(name='same')",
            "its stages must have names of their own; they are: same, same (graded)",
        ),
    ],
)
def test_a_mode_that_cannot_be_run_is_refused(project: Project, stages: str, told: str) -> None:
    project.write(
        "conftest.py",
        "from pytest_agentbench.modes import Mode, Stage\n"
        f"def pytest_agentbench_modes(config): return (Mode(name='mine', stages=({stages})),)\n",
    )
    result = project.bench("--mode=mine")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: --mode=mine: {told}" in result.errlines


MISREPORTING = """
import dataclasses
from pytest_agentbench.execution import Execution, Usage
from pytest_agentbench.runtimes.oracle import Oracle
from pytest_agentbench.trace.events import Event, EventKind, Trace

class Odd(Oracle):
    def collect(self, run, done):
        told = super().collect(run, done)
        return {}

def pytest_agentbench_runtimes(config): return {{"odd": Odd}}
"""


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ("None", "what it returned is None; it must be Execution"),
        (
            "dataclasses.replace(told, status='done')",
            "Execution.status is 'done'; it must be Status",
        ),
        ("dataclasses.replace(told, message=5)", "Execution.message is 5; it must be str"),
        ("dataclasses.replace(told, flags=[1])", "Execution.flags is [1]; it must be tuple"),
        ("dataclasses.replace(told, flags=(1,))", "Execution.flags[0] is 1; it must be str"),
        (
            "dataclasses.replace(told, observed=None)",
            "Execution.observed is None; it must be Mapping",
        ),
        ("dataclasses.replace(told, usage=None)", "Execution.usage is None; it must be Usage"),
        (
            "dataclasses.replace(told, usage=Usage(input_tokens='12'))",
            "Usage.input_tokens is '12'; it must be a number, or None for unknown",
        ),
        (
            "dataclasses.replace(told, trace=Trace(events=({},)))",
            "Trace.events[0] is {}; it must be Event",
        ),
        (
            "dataclasses.replace(told, trace=Trace(events=(Event(kind=EventKind.CALL, tool=7),)))",
            "Event.tool is 7; it must be str",
        ),
        (
            "dataclasses.replace(told, trace=Trace(events=(Event(kind=EventKind.CALL, time='now'),)))",
            "Event.time is 'now'; it must be a number, or None for unknown",
        ),
    ],
)
def test_an_adapter_that_reports_what_cannot_be_recorded(
    project: Project, returned: str, told: str
) -> None:
    """It used to end the run, or to leave a record that no reader took for one."""
    project.write("conftest.py", MISREPORTING.format(returned))
    project.scenario()
    project.bench("--gate=none", runtime="odd")
    [record] = project.records()
    assert record["status"] == "harness_error"
    assert record["message"] == f"adapter 'odd' raised TypeError in collect: {told}"


OFFERED = [
    (
        "def pytest_agentbench_modes(config): return 5",
        "the hook pytest_agentbench_modes returned 5; it must return a tuple of Mode",
    ),
    (
        "def pytest_agentbench_modes(config): return ('mine',)",
        "the hook pytest_agentbench_modes offers 'mine', which is no Mode",
    ),
    (
        "def pytest_agentbench_runtimes(config): raise ValueError('no')",
        "the hook pytest_agentbench_runtimes raised ValueError: no",
    ),
    (
        "def pytest_agentbench_runtimes(config): return ['mine']",
        "the hook pytest_agentbench_runtimes returned ['mine']; it must return a mapping of names",
    ),
    (
        "def pytest_agentbench_sandboxes(config): return {'mine': 5}",
        "the hook pytest_agentbench_sandboxes offers 'mine' as 5, which cannot be called",
    ),
]


@pytest.mark.parametrize(("hook", "told"), OFFERED)
def test_an_offer_that_is_none_is_a_usage_error(project: Project, hook: str, told: str) -> None:
    project.write("conftest.py", hook + "\n")
    result = project.bench()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {told}; mend the conftest.py or the plugin that has it" in result.stderr.str()


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("5", "--sandbox=mine is 5, which has no name, forwards, run, close;"),
        ("1 / 0", "--sandbox=mine cannot be made: it raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_sandbox_that_is_none_is_a_usage_error(project: Project, made: str, told: str) -> None:
    project.write(
        "conftest.py",
        f"def pytest_agentbench_sandboxes(config): return {{'mine': lambda: {made}}}\n",
    )
    result = project.bench("--sandbox=mine")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {told}" in result.stderr.str()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise ValueError('no')", "raised ValueError: no"),
        ("return 5", "returned 5, which is no text"),
    ],
)
def test_a_section_that_fails_is_told_below_the_scoreboard(
    project: Project, body: str, told: str
) -> None:
    """It used to end the run in the middle of its report."""
    project.write("conftest.py", f"def pytest_agentbench_report_section(scoreboard): {body}\n")
    result = project.bench()
    assert result.ret == 0
    hook = "pytest_agentbench_report_section"
    result.stdout.fnmatch_lines(
        ["score *", f"a section is missing: the hook {hook} {told}", "* passed*"]
    )
