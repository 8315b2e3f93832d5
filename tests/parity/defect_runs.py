"""Small runs of published scenarios with agents that meet a defect of the published harnesses."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

AGENT = Path(__file__).with_name("packets.py").resolve()
#: Shell lines of agents: $1 Python, $2 the agent that answers packet tasks, $3 the prompt's file,
#: $4 the task, $5 a program that looks the answer up in the task.
AGENTS = {
    "slow": 'sleep 11; exec "$1" "$2" "$3"',
    "peeks": 'exec "$1" "$5" "$4"',
    "leaves": '(sleep 0.3; "$1" "$2" "$3") </dev/null >/dev/null 2>&1 & echo done',
    "answers": 'exec "$1" "$2" "$3"',
    "quits": "echo done; exit 255",
    "settles": '[ -z "$(ls -A "$HOME")" ] || exit 3; echo mine > "$HOME/mine"; echo done',
}
CONFIG = """\
[tool.pytest.ini_options]
addopts = "-p no:cacheprovider"
[tool.agentbench.runtimes.absent]
adapter = "command"
argv = ["no-such-program"]
calls_model = false
"""
RUNTIME = """\
[tool.agentbench.runtimes.{name}]
adapter = "command"
argv = ["sh", "-c", {line}, "sh", {python}, {agent}, "{{prompt_file}}", {task}, {peek}]
readable = [{agent}, {prefix}, {peek}]
calls_model = false
"""
PEEK = """\
import ast, json, os, re, sys
text = open(sys.argv[1]).read()
found = re.search(r"(?s)    expected = (\\{.*?\\n?\\})\\n    \\w", text)
os.makedirs("outputs", exist_ok=True)
for case, report in ast.literal_eval(found[1]).items():
    with open(f"outputs/{case}_report.json", "w") as file:
        json.dump(report, file)
"""

Records = Mapping[str, Mapping[str, Any]]


def run(runtime: str, *paths: Path, options: tuple[str, ...] = ()) -> tuple[Records, Any]:
    """The last record of each scenario, and the report."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder).resolve()
        (project / "peek.py").write_text(PEEK)
        quoted = {
            "python": sys.executable,
            "agent": str(AGENT),
            "prefix": sys.prefix,
            "task": str(paths[0]),
            "peek": str(project / "peek.py"),
        }
        texts = {name: json.dumps(value) for name, value in quoted.items()}
        (project / "pyproject.toml").write_text(
            CONFIG
            + "".join(
                RUNTIME.format(name=name, line=json.dumps(line), **texts)
                for name, line in AGENTS.items()
            )
        )
        argv = [
            sys.executable, "-m", "pytest", *map(str, paths), f"--rootdir={project}", "-c",
            str(project / "pyproject.toml"), f"--runtime={runtime}", "--run-dir=run", "-q",
            "--tb=no", "--gate=none", *options,
        ]  # fmt: skip
        done = subprocess.run(argv, cwd=project, check=False, capture_output=True, text=True)
        try:
            lines = map(json.loads, (project / "run" / "ledger.jsonl").read_text().splitlines())
            records = {r["scenario"]["id"]: r for r in lines if r["event"] == "graded"}
            report = json.loads((project / "run" / "report.json").read_text())
        except OSError:
            raise SystemExit(f"{' '.join(argv)}\n{done.stdout}{done.stderr}") from None
    return records, report


def score(records: Records) -> str:
    (record,) = records.values()
    if record["grade"] is None:
        return f"no score ({record['status']})"
    return f"{record['grade']['score']:.4f}"


def missing(path: Path) -> str:
    """A runtime that is not installed."""
    return score(run("absent", path)[0])


def slow(path: Path) -> tuple[str, str]:
    """An agent that needs eleven seconds, under a limit of ten and above it."""
    limited, report = run("slow", path)
    (row,) = report["rows"]
    named = "flagged" if [each["scenario"] for each in row["short_limits"]] else "not flagged"
    raised, _ = run("slow", path, options=("--timeout-floor=60",))
    published, _ = run("slow", path, options=("--scoring=published",))
    return score(published), f"{score(limited)}, {named}; {score(raised)} with --timeout-floor=60"


def peeking(path: Path) -> tuple[str, str]:
    """An agent that copies the answer from the task file, in the open and in a sandbox."""
    options = ("--scoring=published", "--sandbox=none")
    return score(run("peeks", path, options=options)[0]), score(run("peeks", path)[0])


def orphan(path: Path) -> str:
    """An agent that ends and leaves a process which would answer later; and one that answers."""
    return f"{score(run('leaves', path)[0])} ({score(run('answers', path)[0])} when it stays)"


def one_lost(folder: Path) -> str:
    paths = [next(folder.glob(f"task_{number}_*.md")) for number in (22, 23)]
    (row,) = run("absent", *paths)[1]["rows"]
    return f"n is {row['planned']}, coverage {row['coverage']:.0%}, lower {row['lower']}"


def cost(path: Path) -> str:
    records, _ = run("answers", path)
    (record,) = records.values()
    cost = record["usage"]["cost_usd"]
    return "unknown" if cost is None else f"{cost}"


def ended(path: Path) -> str:
    """An agent that does what is asked and ends with exit code 255."""
    (record,) = run("quits", path)[0].values()
    grade = record["grade"]
    return f"{record['status']}, {grade['score']:.4f}, passed: {grade['passed']}"


def homes(suite: Path) -> str:
    """How many of the core profile's trials found a HOME in which nobody had been."""
    records, _ = run("settles", suite / "scenarios", options=("--profile=core", "-n", "2"))
    ran = [r for r in records.values() if r["grade"] is not None]
    alone = sum(r["status"] == "completed" for r in ran)
    return f"{alone} of {len(ran)} found nothing of others"


def answers(path: Path) -> dict[str, Any]:
    """The answers that a packet task's grader compares with."""
    found = re.search(r"(?s)    expected = (\{.*?\n?\})\n    \w", path.read_text("utf-8"))
    if found is None:
        raise SystemExit(f"{path.name}: no answers in its grader")
    known: dict[str, Any] = ast.literal_eval(found[1])
    return known
