"""What a checker does touches its own trial only, and a fault of its own is never a score."""

from __future__ import annotations

from typing import Any

import pytest

from tests.project import Project, scenario_text

BAD = {
    "raises": "raise RuntimeError('always')",
    "exits": "import sys; sys.exit(0)",
    "dies": "import os; os._exit(0)",
    "kills": "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
    "prints": "print('x' * 100_000_000); return False",
    "patches": "import json; json.loads = lambda text, **kw: {'word': 'LOWER'}; return False",
    "nan": "return float('nan')",
    "loops": "while True: pass",
}


def scenario(project: Project, name: str, body: str) -> None:
    check = "{id: word, type: json_path, path: out/answer.json, query: $.word, equals: LOWER}"
    text = scenario_text(name).replace(
        check, f'{{id: word, type: python, function: "checkers/{name}.py:word"}}'
    )
    project.write(f"scenarios/{name}.yaml", text)
    project.write(f"checkers/{name}.py", f"def word(workspace, trace):\n    {body}\n")


def of_others(project: Project, run: str) -> list[dict[str, Any]]:
    """Records of the scenarios with good checkers, without what differs between any two runs."""
    kept = []
    for record in project.records(run):
        if record["scenario"]["id"] in ("shout", "zeta"):
            for name in ("started", "ended", "seconds"):
                del record[name]
            for phase in record["phases"]:
                del phase["seconds"]
            kept.append(record)
    return sorted(kept, key=lambda record: str(record["key"]))


@pytest.mark.parametrize("name", BAD)
def test_a_bad_checker_touches_no_other_trial(project: Project, name: str) -> None:
    project.write("pyproject.toml", "[tool.agentbench.defaults]\nchecker_seconds = 3\n")
    scenario(project, "zeta", "import json; return bool(json.loads('1'))")
    project.bench("--run-dir=alone").assert_outcomes(passed=2)
    scenario(project, name, BAD[name])
    project.bench("--run-dir=together")
    assert of_others(project, "together") == of_others(project, "alone")


def test_a_checker_that_is_broken_is_an_error_and_no_score(
    project: Project, workers: list[str]
) -> None:
    scenario(project, "broken", "return undefined_name")
    result = project.bench("--junitxml=j.xml", *workers)
    result.assert_outcomes(passed=1, errors=1)
    record = next(r for r in project.records() if r["scenario"]["id"] == "broken")
    assert (record["status"], record["grade"]) == ("checker_error", None)
    assert "undefined_name" in record["message"]
    assert 'errors="1" failures="0"' in (project.path / "j.xml").read_text()


def test_a_checker_that_raises_on_garbage_only_gives_no_points(project: Project) -> None:
    scenario(
        project,
        "strict",
        "import json; return json.loads((workspace / 'out/answer.json').read_text())['word'] "
        "== 'LOWER'",
    )
    project.write(
        "pyproject.toml",
        "[tool.agentbench.runtimes.messy]\nadapter = 'command'\n"
        "argv = ['sh', '-c', 'mkdir out; echo garbage > out/answer.json; echo done']\n",
    )
    project.run(
        "scenarios/strict.yaml", "--runtime=messy", "--runtime=oracle", "--run-dir=run"
    ).assert_outcomes(passed=1, failed=1)
    record = next(r for r in project.records() if r["runtime"] == "messy")
    word = next(c for c in record["grade"]["checks"] if c["id"] == "word")
    assert word["earned"] == 0
    assert "checker_crashed_on_output" in word["flags"]
