"""The worked example of docs/ci.md: its profile and arguments, with a program that asks its provider."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
import yaml

from tests.project import Project, scenario_text
from tests.provider import provider

EXAMPLE = (
    (Path(__file__).parent.parent / "docs/ci.md").read_text("utf-8").partition("## Example:")[2]
)
AGENT = """\
#!{python}
import json, os, pathlib, sys, urllib.request
task = pathlib.Path(sys.argv[sys.argv.index("--task-file") + 1]).read_text()
trace = pathlib.Path(sys.argv[sys.argv.index("--trace") + 1])
key = {{"Authorization": "Bearer " + os.environ["LLM_KEY"], "Content-Type": "application/json"}}
request = urllib.request.Request(task.split()[-1], b'{{"model": "small-1"}}', key)
answer = json.load(urllib.request.urlopen(request, timeout=20))
word = pathlib.Path("word.txt").read_text().strip()
pathlib.Path("out").mkdir()
pathlib.Path("out/answer.json").write_text(json.dumps({{"word": word.upper()}}))
events = [
    {{"kind": "tool_call", "tool": "read", "args": {{"path": "word.txt"}}}},
    {{"kind": "tool_call", "tool": "write", "args": {{"path": "out/answer.json"}}}},
    {{"kind": "assistant_message", "text": answer["said"]}},
]
trace.write_text("".join(json.dumps(event) + "\\n" for event in events))
"""


def fenced(language: str) -> str:
    """The first block of the example in this language."""
    found = re.search(rf"(?ms)^```{language}\n(.*?)^```$", EXAMPLE)
    assert found is not None
    return found[1]


def test_the_example_reaches_its_provider_with_the_key_of_the_job(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = yaml.safe_load(fenced("yaml"))["jobs"]["gate"]["steps"]
    action = next(step for step in steps if "pytest-agentbench" in step.get("uses", ""))
    args = [line for line in action["with"]["args"].splitlines() if line]
    assert args[-2:] == ["-n", "4"]
    for name in action["env"]:
        monkeypatch.setenv(name, "the key")
    monkeypatch.setenv("PATH", f"{project.path}/bin:{os.environ['PATH']}")
    project.write("bin/my-agent", AGENT.format(python=sys.executable)).chmod(0o755)
    project.write("pyproject.toml", fenced("toml"))
    with provider() as here:
        here.answers(b'{"said": "done"}')
        text = scenario_text().replace('{"word": ...}.', f'{{"word": ...}}, by {here.base_url}')
        assert here.base_url in text
        project.write("scenarios/shout.yaml", text)
        result = project.run("scenarios", "--gate=none", *args[:-2])
    result.assert_outcomes(passed=3)
    assert [asked.headers["authorization"] for asked in here.asked] == ["Bearer the key"] * 3
