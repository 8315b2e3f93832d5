"""A project with a scenario that a judge decides on."""

from __future__ import annotations

from tests.project import Project, scenario_text

RUBRIC = """\
rubric: 1
criteria:
- id: word_is_upper
  statement: The agent delivers the word in capitals.
  category: durable_artifact
  gatekeeper: true
  check: {type: json_path, path: out/answer.json, query: $.word, equals: LOWER}
- id: says_so
  statement: The agent reports that the work is finished.
  category: output_discipline
- id: looks_first
  statement: The agent reads the source before it writes.
  category: phase_adherence
"""
MODELS = """\
[tool.pytest.ini_options]
addopts = '-p no:cacheprovider'
[tool.agentbench.models.fair]
backend = "scripted"
policy = "judge"
evidence = { says_so = "done", looks_first = "calls read" }
[tool.agentbench.models.strict]
backend = "scripted"
policy = "judge"
manner = "no"
[tool.agentbench.models.prose]
backend = "scripted"
policy = "judge"
manner = "prose"
[tool.agentbench.prices.fair]
as_of = "2026-12-01"
input = 1.0
output = 2.0
"""


def judged(
    project: Project, *, policy: str = "rubric", rubric: str = RUBRIC, name: str = "shout"
) -> None:
    """Write the scenario, its rubric and the models of its judges."""
    text = scenario_text(name).replace("family:", f"policy: {policy}\nfamily:")
    if policy == "rubric":
        solved = text.partition("solution:")[2].partition("probes:")[0]
        text = f"{text.partition('checks:')[0]}solution:{solved}"
    project.write(f"scenarios/{name}.yaml", text)
    project.write(f"scenarios/{name}.rubric.yaml", rubric)
    project.write("pyproject.toml", MODELS)
