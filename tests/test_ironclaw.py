"""The adapter of IronClaw, which no test can run: it is held to what is documented."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.doctor import Doctor
from pytest_agentbench.doctor_text import render
from pytest_agentbench.execution import Completed
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.ironclaw import IronClaw
from pytest_agentbench.runtimes.protocol import RuntimeUnavailable
from pytest_agentbench.status import Status
from tests.transcripts import agent_run, profile, script


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return script(tmp_path / "ironclaw", "echo ironclaw 1.0.1")


def test_the_command_is_the_documented_one(tmp_path: Path, program: Path) -> None:
    run = agent_run(tmp_path, "ironclaw", "-v ü\n")
    runtime = IronClaw(profile("ironclaw", path=str(program), args=["--x"], env={"EXTRA": "1"}))
    runtime.prepare(run)
    command = runtime.command(run)
    assert command.argv == (
        *(str(program), "run", "--confirm-host-access", "--x", "--message=-v ü\n"),
    )
    env = dict(command.env)
    assert len(env.pop("IRONCLAW_REBORN_SECRET_MASTER_KEY")) == 64
    assert env == {
        "IRONCLAW_REBORN_HOME": str(run.state / "ironclaw"),
        "IRONCLAW_REBORN_PROFILE": "local-dev-yolo",
        "LLM_BACKEND": "openai_compatible",
        "LLM_BASE_URL": "http://127.0.0.1:8080/v1",
        "LLM_API_KEY": "t0ken",
        "LLM_MODEL": "toy",
        "LLM_REQUEST_TIMEOUT_SECS": "150",
        "EXTRA": "1",
    }
    assert (run.state / "ironclaw").is_dir()


@pytest.mark.parametrize(
    ("done", "status", "message", "said"),
    [
        (Completed(exit_code=0, stdout="Fertig: größer.\n".encode()), Status.COMPLETED, "", 1),
        (
            Completed(exit_code=0),
            Status.AGENT_ERROR,
            "it ended before it was done, with exit code 0: ",
            0,
        ),
        (
            Completed(exit_code=1, stderr=b"Error: no reply\n"),
            Status.AGENT_ERROR,
            "it ended before it was done, with exit code 1: Error: no reply",
            0,
        ),
    ],
)
def test_its_answer_is_all_that_it_tells(
    tmp_path: Path, program: Path, done: Completed, status: Status, message: str, said: int
) -> None:
    execution = IronClaw(profile("ironclaw", path=str(program))).collect(
        agent_run(tmp_path, "ironclaw"), done
    )
    assert (execution.status, execution.message) == (status, message)
    assert [event.text for event in execution.trace.events[1:]] == ["Fertig: größer."][:said]
    assert execution.flags == (Flag.ADAPTER_UNTESTED,)


def test_whoever_looks_at_it_sees_that_it_is_untested(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTBENCH_RUNTIMES", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    with pytest.raises(RuntimeUnavailable) as caught:
        IronClaw(profile("ironclaw")).probe()
    assert str(caught.value) == (
        "ironclaw is not installed. Install it with:\n"
        f"    cargo install --locked --root {tmp_path}/ironclaw@VERSION --path "
        "crates/app/ironclaw_cli    # in a checkout of nearai/ironclaw; the adapter is untested"
    )
    found = Doctor().examine(profile("ironclaw", path=str(program)), IronClaw)
    assert (
        "  version    1.0.1; the adapter was tested with no version at all: it follows the "
        "documentation, and never met the program"
    ) in render([found], "none")
