"""Whole trials in the sandbox that a run takes by itself."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Command, Completed, Execution
from pytest_agentbench.gateway.client import Gateway
from pytest_agentbench.runner import run_phase
from pytest_agentbench.runtimes.protocol import RuntimeInfo
from pytest_agentbench.sandbox.registry import choose
from pytest_agentbench.status import Status
from pytest_agentbench.trial import AgentRun, ModelProfile, Trial
from pytest_agentbench.workspace import Workspace
from tests.project import Project
from tests.test_runner import SAID, trial

#: Says in seen.txt what of its arguments it can see, and whether it has a network; then solves.
AGENT = """\
#!{python}
import json, os, socket, sys
open("seen.txt", "w").write(" ".join(p for p in sys.argv[1:] if os.path.exists(p)))
os.makedirs("out")
open("out/answer.json", "w").write(json.dumps({{"word": open("word.txt").read().strip().upper()}}))
print("done", len(open("/proc/net/dev").read().splitlines()) - 2, "devices")
"""


def agent(project: Project, **options: Any) -> None:
    """A runtime ``mine`` of the project, with a file beside it that it needs."""
    script = project.write("tools/agent", AGENT.format(python=sys.executable))
    script.chmod(0o755)
    project.write("tools/model.txt", "weights")
    hidden = ("scenarios/shout.yaml", "run", "pyproject.toml", "tools/model.txt")
    argv = [str(script), *(str(project.path / name) for name in hidden), "/var", "/etc"]
    lines = [f"{name} = {value!r}" for name, value in {"argv": argv, **options}.items()]
    table = "\n".join(["[tool.agentbench.runtimes.mine]", "adapter = 'command'", *lines])
    project.write("pyproject.toml", f"{table}\n")
    project.write("conftest.py", KEEP)


KEEP = """\
import pathlib, pytest
@pytest.fixture
def workspace(workspace):
    yield workspace
    for path in workspace.root.iterdir():
        if path.is_file():
            pathlib.Path(path.name).write_bytes(path.read_bytes())
"""


def test_an_agent_sees_what_it_needs_and_not_the_project(project: Project) -> None:
    agent(project)
    project.bench(runtime="mine").assert_outcomes(passed=1)
    (record,) = project.records()
    checks = {check["id"]: check["passed"] for check in record["grade"]["checks"]}
    assert checks == {"word": True, "said": True, "read_first": False}
    assert (project.path / "seen.txt").read_text() == "/etc"
    assert (record["enforced"]["sandbox"], record["enforced"]["files"]) == ("bwrap", "hidden")
    assert record["enforced"]["network"] == "none"


def test_a_profile_shows_more_and_opens_the_network(project: Project) -> None:
    agent(project, readable=[str(project.path / "tools" / "model.txt")], network="open")
    project.bench(runtime="mine")
    (record,) = project.records()
    seen = (project.path / "seen.txt").read_text().split()
    assert seen == [str(project.path / "tools/model.txt"), "/etc"]
    assert record["enforced"]["network"] == "open"


def test_a_profile_that_shows_what_is_not_there(project: Project) -> None:
    agent(project, readable=["no/such/file"])
    result = project.bench(runtime="mine")
    result.stdout.fnmatch_lines(
        ["*runtime mine: no/such/file, which readable names, is not there*"]
    )


def test_an_unknown_network(project: Project) -> None:
    agent(project, network="some")
    result = project.bench(runtime="mine")
    result.stderr.fnmatch_lines(
        ["*[[]tool.agentbench.runtimes.mine]: network is 'some'; allowed: none, open"]
    )


def test_scripts_and_commands_of_a_scenario_run_there_too(project: Project) -> None:
    text = project.scenario().read_text()
    project.write("scenarios/shout.sh", "ls -d $0 /var /etc > setup.txt; cp word.txt again.txt\n")
    look = "import os; print(os.path.exists('/var'), open('again.txt').read())"
    check = (
        f"{{id: cmd, type: command, argv: [python3, -c, {look!r}], stdout_contains: false lower}}"
    )
    text = text.replace("checks:\n", f"setup_script: shout.sh\nchecks:\n  - {check}\n")
    project.write("scenarios/shout.yaml", text)
    project.write("conftest.py", KEEP)
    project.bench().assert_outcomes(passed=1)
    assert (project.path / "setup.txt").read_text().splitlines() == [
        "/etc",
        str(project.path / "scenarios/shout.sh"),
    ]


def test_a_limit_of_the_scenario_is_the_agents_result(project: Project) -> None:
    text = project.scenario().read_text()
    project.write("scenarios/shout.yaml", text + "sandbox: {memory_mb: 64}\n")
    eat = "import time; kept = b'x' * (200 << 20); time.sleep(5)"
    project.write(
        "pyproject.toml",
        "[tool.agentbench.runtimes.mine]\nadapter = 'command'\n"
        f"argv = [{sys.executable!r}, '-c', {eat!r}]\n",
    )
    project.bench(runtime="mine").assert_outcomes(failed=1)
    (record,) = project.records()
    assert record["status"] == "agent_error"
    assert record["message"].startswith("it ran into a limit of the sandbox: memory: ")
    assert record["message"].endswith(" 64 MiB")
    assert "limits_reached" in record["flags"]
    assert record["enforced"]["memory_mb"]["limit"] == 64


def test_a_sandbox_that_is_asked_for_is_in_the_record(project: Project) -> None:
    result = project.bench("--sandbox=unshare")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["agentbench: sandbox unshare (asked for)"])
    assert project.records()[0]["enforced"]["sandbox"] == "unshare"


def test_an_unknown_sandbox_is_a_usage_error(project: Project) -> None:
    result = project.bench("--sandbox=jail")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: --sandbox: unknown sandbox 'jail'; available: auto, bwrap, unshare, subreaper, docker, none"
        ]
    )


CALL = """\
import json, sys, urllib.request
url, token = sys.argv[1:]
body = json.dumps({"model": "toy", "messages": [{"role": "user", "content": "x"}]}).encode()
headers = {"Content-Type": "application/json", "Authorization": "Bearer " + token}
request = urllib.request.Request(url + "/v1/chat/completions", body, headers)
print(json.load(urllib.request.urlopen(request))["object"])
"""


class Caller:
    """Calls its model at the URL that it is given."""

    name = "caller"

    def probe(self) -> RuntimeInfo:
        return RuntimeInfo(version="1", endpoint=True)

    def prepare(self, run: AgentRun) -> None:
        pass

    def command(self, run: AgentRun) -> Command:
        assert run.model is not None
        argv = (sys.executable, "-c", CALL, run.model.url, run.model.token)
        return Command(argv=argv, cwd=run.workspace, env={})

    def collect(self, run: AgentRun, done: Completed) -> Execution:
        return Execution(
            status=Status.COMPLETED, trace=SAID, message=(done.stdout + done.stderr).decode()
        )


@pytest.mark.parametrize(
    ("sandbox", "requires", "network"),
    [
        ("bwrap", (), "gateway"),
        ("unshare", (), "gateway"),
        ("subreaper", (), "open"),
        ("bwrap", ("network",), "open"),
    ],
)
def test_the_model_has_a_url_in_every_sandbox(
    tmp_path: Path, gateway: Gateway, sandbox: str, requires: tuple[str, ...], network: str
) -> None:
    one: Trial = trial(
        model=ModelProfile(name="toy", backend="scripted", options={"policy": "refuse"})
    )
    one = dataclasses.replace(one, scenario=dataclasses.replace(one.scenario, requires=requires))
    workspace = Workspace(tmp_path / "ws")
    workspace.reset()
    execution = run_phase(
        one,
        runtime=Caller(),
        sandbox=choose(sandbox).make(),
        root=tmp_path,
        workspace=workspace,
        gateway=gateway,
    )
    assert execution.message == "chat.completion\n"
    assert execution.usage.requests == 1
    assert execution.enforced["network"] == network
