"""The composite action: its steps, run as a runner would run them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.made_runs import write_run
from tests.project import Project

ACTION = yaml.safe_load((Path(__file__).parent.parent / "action.yml").read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
SCENARIOS = ("s0", "s1", "s2", "s3", "s4", "s5")


class Runner:
    """Runs the shell steps of the action in a project; what ``uses`` is left to GitHub."""

    def __init__(self, project: Project, **inputs: str) -> None:
        self.path = project.path
        given = {name: spec["default"] for name, spec in ACTION["inputs"].items()}
        self.inputs = given | {"python": sys.executable} | inputs
        self.outputs: dict[str, str] = {}
        self.summary = self.path / "summary.md"
        self.summary.write_text("")

    def step(self, name: str) -> subprocess.CompletedProcess[str]:
        step = next(step for step in STEPS if step["name"] == name)
        output = self.path / "output"
        output.write_text("")
        script = self.path / "step.sh"
        script.write_text(step["run"])
        env = {name: self.value(text) for name, text in step["env"].items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.path,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(self.path),
                "COLUMNS": "140",
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(self.summary),
                **env,
            },
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )
        for line in output.read_text().splitlines():
            key, _, value = line.partition("=")
            self.outputs[f"steps.{step['id']}.outputs.{key}"] = value
        return done

    def value(self, text: str) -> str:
        def found(match: re.Match[str]) -> str:
            kind, _, name = match[1].partition(".")
            return self.inputs[name] if kind == "inputs" else self.outputs.get(match[1], "")

        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", found, text)


@pytest.fixture
def bench(project: Project) -> Project:
    (project.path / "scenarios/shout.yaml").unlink()
    for name in SCENARIOS:
        project.scenario(name, family=name)
    return project


def test_no_input_is_put_into_a_shell_line() -> None:
    scripts = [step["run"] for step in STEPS if "run" in step]
    assert len(scripts) == 6
    for script in scripts:
        assert "${{" not in script
        subprocess.run(["bash", "-n"], input=script, text=True, check=True, timeout=20)
    assert all(step["shell"] == "bash" for step in STEPS if "run" in step)


def test_what_is_kept_is_found_by_later_runs_and_by_no_other_name() -> None:
    uses = {step["uses"]: step["with"] for step in STEPS if "uses" in step}
    restored, saved = uses["actions/cache/restore@v4"], uses["actions/cache/save@v4"]
    assert restored["path"] == saved["path"]
    assert saved["key"].startswith(restored["restore-keys"])
    assert restored["restore-keys"] == "agentbench-${{ inputs.name }}@"


def test_the_first_run_has_no_baseline_and_becomes_one(bench: Project) -> None:
    runner = Runner(bench, args="--runtime=oracle\n\n--trials=2")
    found = runner.step("Find the baseline")
    assert "::notice::no run was kept yet" in found.stdout
    assert runner.step("Run the benchmark").returncode == 0
    assert runner.outputs == {"steps.run.outputs.exit-code": "0"}
    assert runner.step("Lay the run out as the next baseline").returncode == 0
    kept = sorted(path.name for path in (bench.path / ".agentbench-baseline").iterdir())
    assert kept == ["ledger.jsonl", "plan.json"]
    later = Runner(bench, args="--runtime=nop\n--trials=2", **{"run-dir": "reports/later"})
    later.step("Find the baseline")
    assert later.outputs == {"steps.baseline.outputs.folder": ".agentbench-baseline"}
    assert later.step("Run the benchmark").returncode == 1
    assert later.outputs["steps.run.outputs.exit-code"] == "1"
    assert later.step("Write the comparison into the summary").returncode == 0
    assert later.summary.read_text().startswith("## Gate: regression\n")


def test_a_baseline_in_the_repository_is_compared_with(bench: Project) -> None:
    write_run(bench.path / "benchmarks/base line", dict.fromkeys(SCENARIOS, "0"), runtime="nop")
    runner = Runner(bench, args="--runtime=nop", baseline="benchmarks/base line")
    assert runner.step("Find the baseline").returncode == 0
    assert runner.step("Run the benchmark").returncode == 0
    bench.write("pyproject.toml", "[tool.agentbench.gate]\nmin_pass_all = 0.5\n")
    runner.step("Write the comparison into the summary")
    text = runner.summary.read_text().replace("\\", "")
    assert "- **broken** nop · baseline: min_pass_all: pass^1 0.000; allowed: 0.500" in text


def test_a_baseline_that_is_not_there_is_an_error(bench: Project) -> None:
    found = Runner(bench, baseline="nowhere").step("Find the baseline")
    assert found.returncode == 2
    assert "::error::the folder of the input baseline has no plan.json" in found.stdout


def test_what_is_given_is_no_shell_text(bench: Project) -> None:
    hostile = "$(touch pwned)`touch pwned`; touch pwned"
    runner = Runner(bench, args=f"--runtime=oracle\n-k\n{hostile}", baseline=hostile)
    assert runner.step("Find the baseline").returncode == 2
    assert runner.step("Run the benchmark").returncode == 4  # no such expression for -k
    assert not (bench.path / "pwned").exists()
