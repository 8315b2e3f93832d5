"""Ctrl-C, and TERM as CI sends it: nothing survives, nothing is lost, the next run goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.project import Project

#: Says that it runs, and leaves a daemon that no signal but KILL ends and that beats for ever.
AGENT = """\
if [ -e {here}/slow ]; then
  touch {here}/started-$AGENTBENCH_TRIAL
  setsid sh -c 'trap "" TERM INT HUP; while :; do date +%N > {here}/beat; sleep 0.05; done' &
  sleep 120
fi
"""

#: A test run in the background of a script has SIGINT ignored, and would hand that on.
PYTEST = """
import pytest, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main(sys.argv[1:]))
"""


def wait_for(project: Project, count: int) -> None:
    deadline = time.monotonic() + 120
    while len(list(project.path.glob("started-*"))) < count:
        assert time.monotonic() < deadline, "the agents did not start"
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_agents_and_tells_what_ran_from_what_did_not(
    project: Project, workers: list[str], number: signal.Signals
) -> None:
    agent = project.write("agent.sh", AGENT.format(here=project.path))
    project.write("slow", "")
    project.write(
        "pyproject.toml",
        "[tool.agentbench.runtimes.slow]\nadapter = 'command'\n"
        f"argv = ['sh', '{agent}']\ncalls_model = false\n",
    )
    args = ["scenarios", "--runtime=slow", "--run-dir=run", "--trials=4", *workers]
    args += ["--sandbox=subreaper"]
    with Path(project.path, "out.txt").open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", PYTEST, *args],
            cwd=project.path,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        running = 2 if workers else 1
        wait_for(project, running)
        os.killpg(process.pid, number)
        assert process.wait(120) == pytest.ExitCode.INTERRUPTED
    assert "agentbench scoreboard" in Path(project.path, "out.txt").read_text()
    statuses = [record["status"] for record in project.records()]
    assert sorted(statuses) == ["interrupted"] * running + ["not_started"] * (4 - running)
    beat = Path(project.path, "beat")
    beat.unlink(missing_ok=True)
    time.sleep(0.3)
    assert not beat.exists(), "a process of the agent's outlived the run"
    Path(project.path, "slow").unlink()
    project.run(*args).assert_outcomes(failed=4)
    completed = [r["key"] for r in project.records() if r["status"] == "completed"]
    assert len(completed) == len(set(completed)) == 4
