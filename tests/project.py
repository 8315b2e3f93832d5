"""A small project in a temporary folder, and ways to run pytest in it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

SCENARIO = """\
agentbench: 1
id: {id}
dimension: {dimension}
difficulty: {difficulty}
family: {family}
tags: [{tags}]
prompt: >-
  Copy the word of word.txt in upper case to out/answer.json as {{"word": ...}}.
timeout_seconds: 30
workspace_files:
  - {{path: word.txt, content: "lower\\n"}}
checks:
  - {{id: word, type: json_path, path: out/answer.json, query: $.word, equals: LOWER}}
  - {{id: said, type: response_contains, pattern: done}}
  - {{id: read_first, type: happens_before, category: process, first: {{reads: word.txt}}, then: {{writes: "*"}}}}
solution:
  - read: word.txt
  - write: out/answer.json
    content: '{{"word": "LOWER"}}'
  - say: done
probes:
  - name: not upper
    fails: [word]
    steps:
      - read: word.txt
      - write: out/answer.json
        content: '{{"word": "lower"}}'
      - say: done
"""


def scenario_text(id: str = "shout", **kw: str) -> str:  # noqa: A002
    facts = {
        "dimension": "tool_use",
        "difficulty": "easy",
        "family": "words",
        "tags": "text",
    }
    return SCENARIO.format(id=id, **(facts | kw))


class Project:
    """A temporary project with scenarios, and ways to run pytest in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        pytester.makepyprojecttoml("[tool.pytest.ini_options]\naddopts = '-p no:cacheprovider'\n")

    def scenario(self, id: str = "shout", **kw: str) -> Path:  # noqa: A002
        return self.write(f"scenarios/{id}.yaml", scenario_text(id, **kw))

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def run(self, *args: str) -> pytest.RunResult:
        return self.pytester.runpytest_subprocess(*args)

    def command(self, *args: str) -> pytest.RunResult:
        """Run ``agentbench``, wherever it is installed."""
        return self.pytester.run(sys.executable, "-m", "pytest_agentbench.cli", *args)

    def bench(self, *args: str, runtime: str = "oracle") -> pytest.RunResult:
        """Run the scenarios into the run folder ``run``."""
        return self.run("scenarios", f"--runtime={runtime}", "--run-dir=run", *args)

    def lines(self, run: str = "run") -> list[dict[str, Any]]:
        text = (self.path / run / "ledger.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def records(self, run: str = "run") -> list[dict[str, Any]]:
        return [line for line in self.lines(run) if line["event"] == "graded"]
