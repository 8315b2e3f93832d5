"""Whole runs of real runtimes in small projects. Nothing is skipped: what is missing fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

# Part of a whole run of tests/ only where somebody said where the runtimes are.
collect_ignore_glob = [] if os.environ.get("AGENTBENCH_RUNTIMES") else ["test_*.py"]
ROOT = Path(__file__).parent.parent.parent
SHIPPED = ROOT / "scenarios"


@dataclass(frozen=True, slots=True)
class Run:
    """What a run of pytest left."""

    folder: Path
    code: int
    output: str

    @property
    def records(self) -> list[dict[str, Any]]:
        text = (self.folder / "ledger.jsonl").read_text()
        lines = map(json.loads, text.splitlines())
        return [line for line in lines if line["event"] == "graded"]

    @property
    def scores(self) -> dict[str, float | None]:
        """By the part of the id in brackets; None where there is no score."""
        return {
            record["node_id"].rpartition("[")[2][:-1]: (record["grade"] or {}).get("score")
            for record in self.records
        }

    def trace(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        text = (self.folder / "trials" / record["key"] / "trace.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]


Bench = Callable[..., Run]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Runs scenarios with ``--model=scripted`` unless told otherwise, in a fresh run folder."""

    def bench(*arguments: str, table: str = "", **env: str) -> Run:
        project = tmp_path / "project"
        project.mkdir(exist_ok=True)
        (project / "pyproject.toml").write_text(table)
        runs = len(list(tmp_path.glob("run*")))
        model = () if any(a.startswith("--model") for a in arguments) else ("--model=scripted",)
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"),
            *(f"--rootdir={project}", f"-c{project / 'pyproject.toml'}"),
            f"--run-dir={tmp_path / f'run{runs}'}",
            *model,
            *arguments,
        ]
        done = subprocess.run(
            command,
            cwd=project,
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        print(done.stdout)
        return Run(tmp_path / f"run{runs}", done.returncode, done.stdout)

    return bench


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A scenario whose solution shows a trace's every side, and needs no time."""
    folder = tmp_path / "project" / "talk"
    folder.mkdir(parents=True)
    (folder / "talk.yaml").write_text(TALK, "utf-8")
    return folder / "talk.yaml"


TALK = """\
agentbench: 1
id: talk
dimension: tool_use
difficulty: easy
prompt: |
  Put the two greetings of a.txt and b.txt into out/hello.txt, one a line, "Grüße" for "Hallo".
  What is missing is to be tried: `ls missing`.
timeout_seconds: 120
workspace_files:
  - {path: a.txt, content: "Hallo Ä\\n"}
  - {path: b.txt, content: "Hallo 世界\\n"}
checks:
  - {id: greetings, type: file_contains, path: out/hello.txt, pattern: "Grüße 世界"}
  - {id: read_first, type: happens_before, category: process, first: {reads: b.txt}, then: {writes: "out/*"}}
  - {id: said, type: response_contains, pattern: "Grüße sind da"}
solution:
  - read: a.txt
  - read: b.txt
  - exec: [ls, missing]
  - write: out/hello.txt
    content: "Grüße Ä\\nHallo 世界\\n"
  - edit: out/hello.txt
    old: "Hallo 世界"
    new: "Grüße 世界"
  - say: Die Grüße sind da.
probes:
  - name: nothing replaced
    fails: [greetings, read_first]
    steps:
      - write: out/hello.txt
        content: "Hallo 世界\\n"
      - say: Die Grüße sind da.
"""
