"""Real runs in several modes: an agent that knows only what skills tell it, and what that is worth."""

from __future__ import annotations

import json

import jsonschema
import pytest

from pytest_agentbench.report.report_schema import schema
from tests.project import Project

SETTINGS = """
[tool.pytest.ini_options]
addopts = '-p no:cacheprovider'
[tool.agentbench.models.apprentice]
backend = "scripted"
policy = "apprentice"
lesson = "shouting/SKILL.md"
[tool.agentbench.prices.apprentice]
as_of = "2026-01-01"
input = 1.0
output = 2.0
"""
LESSON = """\
---
name: shouting
description: How to put words in upper case.
---

# Shouting

```sh
cat word.txt
mkdir -p out && printf '{"word": "%s"}' "$(tr a-z A-Z < word.txt)" > out/answer.json
```
"""
MODES = ("--mode=baseline", "--mode=preskill", "--mode=postskill")


def test_a_skill_that_was_made_is_compared_with_the_baseline(project: Project) -> None:
    project.write("pyproject.toml", SETTINGS)
    project.write("shouting/SKILL.md", LESSON)
    for name in ("bellow", "shout"):
        project.scenario(name, family=name)
    done = project.bench(
        "--model=apprentice", "--trials=2", "--gate=none", *MODES, runtime="minimal"
    )
    assert done.ret == 0
    text = " ".join(done.stdout.str().split())
    assert "2 preskill within-task 0.325 0.675 +0.350 [" in text
    assert "3 postskill 0.325 0.675 +0.350 [" in text  # the second run over the first
    assert "2 preskill 4 in 4 of 4 0.600 4 of 4 4 of 4 0 of 4 0 of 4 0" in text
    assert "2 preskill: the data do not show that the skill's content helped: the gain" in text

    data = json.loads((project.path / "run" / "report.json").read_text())
    jsonschema.validate(data, schema())
    pre, post = data["skills"]
    records = project.records()

    def mean(mode: str, *places: int) -> float:
        """Tokens of these phases together, in the mean over the trials of a mode."""
        found = [record["phases"] for record in records if record["mode"] == mode]
        usages = [phases[place]["usage"] for phases in found for place in places]
        return sum(u["input_tokens"] + u["output_tokens"] for u in usages) / len(found)

    direct, tokens = mean("baseline", 0), pre["resources"]["tokens"]
    assert tokens["before"] == direct
    assert tokens["execution"] == pytest.approx(direct / mean("preskill", 1))
    assert tokens["end_to_end"] == pytest.approx(direct / mean("preskill", 0, 1))
    assert tokens["break_even"] == "never"
    five = mean("postskill", 0, 1) + 5 * mean("postskill", 2)
    assert post["resources"]["tokens"]["amortised"]["5"] == pytest.approx(five / (6 * direct))
    assert post["resources"]["cost_usd"]["execution"] < 1
