"""A trial of the published suites: here, and under the harnesses that they come with.

    python benchmarks/published.py EVOCLAW CLAWPRO [--runs 3] [--trials 2]

The arguments are checkouts of EvoClawBench and ClawProBench; nothing is written into them. One shell
script is the agent everywhere: it stands in for the programs that those harnesses start, and is run
by the ``command`` adapter here. It leaves one file and one sentence. What those harnesses need of
Python is installed into build/published, from the package index. No model is called.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from measure import PYTHON, Command, Row, folder, interleave, pytest_command, table

ENVIRONMENT = Path(__file__).resolve().parents[1] / "build" / "published"
#: As the published harnesses call them: "agents" and "agent" (OpenClaw's), "agent --workspace" (nanobot).
AGENT = """\
#!/bin/sh
state=${OPENCLAW_STATE_DIR:-$HOME/.openclaw}
work() { echo done > answer.txt; }
case "$1 $2" in
"agents list")
  cd "$state/agents" 2>/dev/null || { [ "$3" = --json ] && echo '[]'; exit 0; }
  if [ "$3" = --json ]; then
    comma=
    printf '['
    for id in *; do printf '%s{"id":"%s"}' "$comma" "$id"; comma=,; done
    echo ']'
  else
    for id in *; do echo "- $id"; done
  fi ;;
"agents add") mkdir -p "$state/agents/$3/sessions" ;;
"agents delete") rm -rf "$state/agents/$3" ;;
"agent --agent")
  work
  id=$3
  session=s1
  [ "$4" != --session-id ] || session=$5
  echo '{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"All done."}],\
"usage":{"input":10,"output":5,"totalTokens":15}}}' > "$state/agents/$id/sessions/$session.jsonl"
  printf '{"result":{"payloads":[{"text":"All done."}],"meta":{"durationMs":1,'
  echo '"agentMeta":{"sessionId":"'$session'"}}}}' ;;
"agent "* | "work ") work; echo "All done." ;;
*) echo 1.0 ;;
esac
"""
PROJECT = """\
[tool.agentbench.runtimes.agent]
adapter = "command"
argv = ["sh", {agent}, "work"]
readable = [{agent}]
calls_model = false
[tool.agentbench.profiles.workspace]
tags = ["benchmark-active", "signal-workspace_live"]
"""


@dataclass(frozen=True, slots=True)
class Side:
    """A harness on a suite: its command, and how many of its trials ended well in the last run."""

    command: Command
    ended: Callable[[Path], int]


def install(evoclaw: Path, clawpro: Path) -> Path:
    """The interpreter of an environment with what both harnesses say that they need."""
    python = ENVIRONMENT / "bin" / "python"
    needs = tomllib.loads((evoclaw / "evoclawbench/pyproject.toml").read_text())["project"]
    asked = [*needs["dependencies"], "-r", str(clawpro / "requirements.txt")]
    if not python.exists():
        subprocess.run([PYTHON, "-m", "venv", ENVIRONMENT], check=True)
    pip = ("-m", "pip", "install", "--disable-pip-version-check", "--quiet")
    subprocess.run([python, *pip, *asked], check=True)
    return python


def automated(tasks: Path) -> list[Path]:
    """The tasks that need no judge, whose cost is that of a client of some model."""
    texts = {path: path.read_text("utf-8") for path in sorted(tasks.glob("task_*.md"))}
    return [path for path, text in texts.items() if "\ngrading_type: automated\n" in text]


def environment(root: Path) -> dict[str, str]:
    """Programs by the names that the harnesses look for, a HOME, and no bytecode in checkouts."""
    programs = root / "bin"
    programs.mkdir(parents=True)
    for name in ("openclaw", "nanobot"):
        (programs / name).write_text(AGENT)
        (programs / name).chmod(0o755)
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(root / "home"),
        "PYTHONPYCACHEPREFIX": str(root / "bytecode"),
        "OPENCLAW_BINARY": str(programs / "openclaw"),
    }


def ours(root: Path, suite: Path, trials: int, *options: str) -> Side:
    env = environment(root)
    agent = json.dumps(str(root / "bin" / "openclaw"))
    (root / "pyproject.toml").write_text(PROJECT.format(agent=agent))
    told = (
        "-c",
        "pyproject.toml",
        "--rootdir=.",
        "--runtime=agent",
        "--run-dir=run",
        "--gate=none",
    )
    asked = (str(suite), *told, "--tb=no", f"--trials={trials}", *options)
    kept = {name: env[name] for name in ("PYTHONPYCACHEPREFIX",)}
    return Side(pytest_command(root, *asked, allowed=(0, 1), remove=("run",), env=kept), ledger)


def ledger(root: Path) -> int:
    lines = map(json.loads, (root / "run" / "ledger.jsonl").read_text().splitlines())
    found = {line["key"] for line in lines if line["event"] == "graded" and line["grade"]}
    return len(found)


def evoclaw(
    python: Path, root: Path, checkout: Path, tasks: list[Path], trials: int, runtime: str
) -> Side:
    env = environment(root)
    script = checkout / "evoclawbench" / "scripts" / "benchmark.py"
    options = (
        *("--model", "none/none", "--runtime", runtime, "--mode", "baseline", "--workers", "1"),
        *("--runs", str(trials), "--no-progress", "--suite", ",".join(path.stem for path in tasks)),
    )
    gone = ("results", "workspaces", "home")
    argv = (str(python), str(script), *options)
    return Side(Command(argv=argv, cwd=root, remove=gone, env=env), entries)


def entries(root: Path) -> int:
    (path,) = (p for p in (root / "results").glob("*.json") if "trajectories" not in p.name)
    runs = [
        r for e in json.loads(path.read_text())["baseline_results"].values() for r in e["results"]
    ]
    return sum(run["status"] == "success" and bool(run["transcript"]) for run in runs)


def clawpro(python: Path, root: Path, checkout: Path, trials: int) -> Side:
    env = environment(root)
    (root / "tmp").mkdir()
    options = (
        *("--model", "none/none", "--trials", str(trials), "--benchmark-profile", "full"),
        *("--signal-source", "workspace_live", "--quiet-progress", "--results-dir", "results"),
        *("--workspace-root", str(root / "tmp"), "--openclaw-binary", env["OPENCLAW_BINARY"]),
    )
    argv = (str(python), str(checkout / "run.py"), "run", *options)
    gone = ("results", "home")
    return Side(Command(argv=argv, cwd=root, remove=gone, env=env), scenarios)


def scenarios(root: Path) -> int:
    (path,) = (root / "results").glob("result_*.json")
    trials = [t for s in json.loads(path.read_text())["scenarios"] for t in s["trials"]]
    return sum(trial["execution"]["status"] == "success" for trial in trials)


def sides(root: Path, python: Path, asked: argparse.Namespace) -> Iterator[tuple[str, str, Side]]:
    """Suite, harness, and how it is run."""
    markdown = asked.evoclaw / "evoclawbench" / "tasks"
    tasks = automated(markdown)
    # Paths of files would be looked up one by one, which grows with the square of their number.
    judged = sorted(
        {path.stem for path in markdown.glob("task_*.md")} - {path.stem for path in tasks}
    )
    unjudged = ("-k", f"not ({' or '.join(judged)})")
    for runtime in ("openclaw", "nanobot"):
        place = root / runtime
        side = evoclaw(python, place, asked.evoclaw, tasks, asked.trials, runtime)
        yield "EvoClawBench", f"its own, as {runtime}", side
    yield "ClawProBench", "its own", clawpro(python, root / "claw", asked.clawpro, asked.trials)
    for sandbox in ("auto", "none"):
        named = f"ours, --sandbox={sandbox}"
        options = (asked.trials, f"--sandbox={sandbox}")
        place = root / f"evo-{sandbox}"
        yield "EvoClawBench", named, ours(place, markdown, *options, *unjudged)
        place = root / f"claw-{sandbox}"
        suite = asked.clawpro / "scenarios"
        yield "ClawProBench", named, ours(place, suite, *options, "--profile=workspace")


def main() -> int:
    parser = argparse.ArgumentParser(description="A trial of the published suites, and its cost.")
    parser.add_argument("evoclaw", type=Path, help="a checkout of EvoClawBench")
    parser.add_argument("clawpro", type=Path, help="a checkout of ClawProBench")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="rounds (default: 3)")
    parser.add_argument("--trials", type=int, default=2, metavar="N", help="of each (default: 2)")
    asked = parser.parse_args()
    asked.evoclaw, asked.clawpro = asked.evoclaw.resolve(), asked.clawpro.resolve()
    python = install(asked.evoclaw, asked.clawpro)
    with folder() as root:
        all_sides = {(suite, name): side for suite, name, side in sides(root, python, asked)}
        cost = interleave({name: side.command for name, side in all_sides.items()}, asked.runs)
        ended = {name: side.ended(side.command.cwd) for name, side in all_sides.items()}
    rows = [
        Row(
            name=f"{suite}, {harness}: {ended[suite, harness]} trials",
            unit="ms",
            sample=cost[suite, harness].over(ended[suite, harness] / 1000),
        )
        for suite, harness in sorted(all_sides)
    ]
    print(
        f"CPU of a trial, start and collection shared out; median and range of {asked.runs} rounds; "
        f"{os.cpu_count()} cores, Python {platform.python_version()}\n"
    )
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
