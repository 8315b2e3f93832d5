"""Real runtimes and a model that knows only what skills say: the skill is found, read, followed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.project import scenario_text
from tests.runtimes.conftest import Bench

RUNTIMES = ("codex", "claude-code", "nanobot", "openclaw")
SKILL = """\
---
name: shouting
description: How to put words in upper case. Use it when a word is wanted in upper case.
---

```sh
python3 "$(find . -path '*/skills/shouting/scripts/shout.py' -print -quit)"
```
"""
SCRIPT = """\
import json
import pathlib

word = pathlib.Path("word.txt").read_text().strip().upper()
pathlib.Path("out").mkdir(exist_ok=True)
pathlib.Path("out/answer.json").write_text(json.dumps({"word": word}))
"""
TABLE = "[tool.agentbench.models.app]\nbackend = 'scripted'\npolicy = 'apprentice'\n"


@pytest.mark.parametrize("name", RUNTIMES)
def test_it_does_what_the_skill_says_and_nothing_without_it(
    bench: Bench, tmp_path: Path, name: str
) -> None:
    skill = tmp_path / "project" / "shouting"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    (skill / "scripts" / "shout.py").write_text(SCRIPT)
    scenario = skill.parent / "shout.yaml"
    text = scenario_text().replace("timeout_seconds: 30", "timeout_seconds: 120")
    scenario.write_text(f"{text}skills: [shouting]\n")
    modes = ("--mode=baseline", "--mode=with-skill")
    run = bench(str(scenario), f"--runtime={name}", "--model=app", *modes, "-n2", table=TABLE)
    passed = {}
    for record in run.records:
        checks = {check["id"]: check["passed"] for check in record["grade"]["checks"]}
        passed[record["mode"]] = checks["word"]
    assert passed == {"baseline": False, "with-skill": True}, run.output
    (skilled,) = (record for record in run.records if record["mode"] == "with-skill")
    calls = [event for event in run.trace(skilled) if event["kind"] == "tool_call"]
    assert "shouting/SKILL.md" in json.dumps(calls[1]["args"])
