"""Runs EvoClawBench's tasks with agents whose scores under its own harness are known.

Usage: python -m tests.parity.evoclaw EVOCLAW

EVOCLAW is a checkout with ``evoclawbench/tasks``. An agent that answers the packet tasks (22 to 100)
exactly and every task with a text has 1.0 in 79 of 79, and a mean of 0.8092 over all 101 where a judge
always says 0.5; ``nop`` has 0 in all of them. Needs openpyxl and python-docx, as two graders do.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

AGENT = Path(__file__).with_name("packets.py")
MEAN = 0.8092
CONFIG = """\
[tool.pytest.ini_options]
addopts = "-p no:cacheprovider -p half_judge"
pythonpath = ["."]
[tool.agentbench.runtimes.packets]
adapter = "command"
argv = [{python}, {agent}, "{{prompt_file}}"]
readable = [{agent}, {prefix}]
calls_model = false
"""
JUDGE = """\
from pytest_agentbench.grading.judge import ScriptedJudge

def pytest_agentbench_judge(config):
    return ScriptedJudge(default=0.5)
"""


def grades(project: Path, suite: Path, runtime: str, scoring: str) -> dict[str, dict[str, Any]]:
    run = project / f"run-{runtime}-{scoring}"
    argv = [
        sys.executable, "-m", "pytest", str(suite), f"--rootdir={project}", "-c",
        str(project / "pyproject.toml"), f"--runtime={runtime}", f"--scoring={scoring}",
        f"--run-dir={run}", "-n", "2", "-q", "--tb=no", "--gate=none",
    ]  # fmt: skip
    subprocess.run(argv, cwd=project, check=False, stdout=subprocess.DEVNULL)
    lines = map(json.loads, (run / "ledger.jsonl").read_text().splitlines())
    return {line["scenario"]["id"]: line for line in lines if line["event"] == "graded"}


def main(checkout: Path) -> int:
    suite = checkout.resolve() / "evoclawbench" / "tasks"
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        named = {"python": sys.executable, "agent": str(AGENT.resolve()), "prefix": sys.prefix}
        quoted = {name: json.dumps(value) for name, value in named.items()}
        (project / "pyproject.toml").write_text(CONFIG.format(**quoted))
        (project / "half_judge.py").write_text(JUDGE)
        found = grades(project, suite, "packets", "published")
        nothing = grades(project, suite, "nop", "default")
    lost = [name for name, line in (found | nothing).items() if not line["grade"]]
    for name in lost:
        print(f"{name}: {(found | nothing)[name]['message']}"[:300])
    scores = {name: line["grade"]["score"] for name, line in found.items() if line["grade"]}
    packets = [score for name, score in scores.items() if int(name.split("_")[1]) >= 22]
    right = sum(score == 1.0 for score in packets)
    mean = sum(scores.values()) / len(scores)
    zeros = sum(line["grade"]["score"] == 0 for line in nothing.values() if line["grade"])
    print(f"packet tasks with 1.0: {right} of {len(packets)}; expected 79 of 79")
    print(f"mean of {len(scores)} tasks: {mean:.4f}; expected {MEAN} of 101")
    print(f"nop: 0 in {zeros} of {len(nothing)}; expected 101 of 101")
    good = (right, len(scores), round(mean, 4), zeros) == (79, 101, MEAN, 101)
    return 0 if good and not lost else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
