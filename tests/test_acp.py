"""The client of the Agent Client Protocol against an agent, and the adapter around it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Completed, ModelEndpoint
from pytest_agentbench.flag import Flag
from pytest_agentbench.runtimes.acp import Acp
from pytest_agentbench.runtimes.protocol import RuntimeUnavailable
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.status import Status
from pytest_agentbench.trial import AgentRun, Phase, ProfileError, RuntimeProfile, Trial

AGENT = Path(__file__).with_name("acp_agent.py")


def agent_run(tmp_path: Path, prompt: str = "end_turn") -> AgentRun:
    for folder in ("home", "state", "ws"):
        (tmp_path / folder).mkdir(exist_ok=True)
    phase = Phase(name="baseline", seconds=60.0)
    trial = Trial(
        scenario=Scenario(id="demo", path=Path("demo.yaml"), prompt=prompt),
        runtime=RuntimeProfile(name="mine", adapter="acp"),
        mode="baseline",
        index=1,
        phases=(phase,),
    )
    return AgentRun(
        id="0123-baseline-1",
        trial=trial,
        phase=phase,
        prompt=prompt,
        workspace=tmp_path / "ws",
        home=tmp_path / "home",
        state=tmp_path / "state",
        seconds=phase.seconds,
        model=ModelEndpoint(
            name="toy", socket=tmp_path / "s", token="t0ken", url="http://127.0.0.1:8080"
        ),
    )


def acp(**options: Any) -> Acp:
    options = {"argv": [sys.executable, str(AGENT)], **options}
    return Acp(RuntimeProfile(name="mine", adapter="acp", options=options))


def turn(tmp_path: Path, prompt: str, **options: Any) -> tuple[Completed, list[Any], Any]:
    """How the client ended, what the agent said, and the execution."""
    run, runtime = agent_run(tmp_path, prompt), acp(**options)
    runtime.prepare(run)
    command = runtime.command(run)
    process = subprocess.run(
        command.argv,
        cwd=command.cwd,
        env={**os.environ, **command.env},
        capture_output=True,
        timeout=60,
        check=False,
    )
    done = Completed(exit_code=process.returncode, stderr=process.stderr)
    rows = [json.loads(line) for line in (run.state / "acp.jsonl").read_text().splitlines()]
    said = []
    for row in rows:
        update = row["message"].get("params", {}).get("update", {})
        if update.get("sessionUpdate") == "agent_message_chunk":
            text = update["content"]["text"]
            said.append(json.loads(text) if text[:1] in ("{", "[") else text)
    return done, said, runtime.collect(run, done)


def ended(pid: int) -> bool:
    """Whether a process has ended, or does so within a while."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 10)[0])
    finally:
        os.close(handle)


@pytest.mark.parametrize(
    ("offers", "files", "terminal"),
    [([], False, False), (["fs"], True, False), (["fs", "terminal"], True, True)],
)
def test_the_client_offers_what_the_profile_says(
    tmp_path: Path, offers: list[str], files: bool, terminal: bool
) -> None:
    done, said, execution = turn(tmp_path, "capabilities", offers=offers)
    fs = {"readTextFile": files, "writeTextFile": files}
    assert said == [{"fs": fs, "terminal": terminal}]
    assert (done.exit_code, execution.status) == (0, Status.COMPLETED)


def test_whatever_the_agent_asks_leave_for_is_allowed_if_it_can_be(tmp_path: Path) -> None:
    assert turn(tmp_path, "leave")[1] == [
        {"outcome": "selected", "optionId": "once"},
        {"outcome": "selected", "optionId": "always"},
        {"outcome": "cancelled"},
    ]


def test_files_are_read_and_written_for_the_agent(tmp_path: Path) -> None:
    path = tmp_path / "ws" / "sub" / "ü.txt"
    assert turn(tmp_path, "files")[1] == [
        {"code": -32002, "message": f"Resource not found: {path} (ENOENT)"},
        {},
        {"content": "1\n2\n3\n4"},
        {"content": "2\n3\n"},
    ]
    assert path.read_text("utf-8") == "1\n2\n3\n4"


def test_commands_are_run_for_the_agent_and_the_end_of_their_output_kept(tmp_path: Path) -> None:
    assert turn(tmp_path, "commands")[1] == [
        {"exitCode": 3, "signal": None},
        {"output": "7\n", "truncated": False, "exitStatus": {"exitCode": 3, "signal": None}},
        {"exitCode": 1, "signal": None},
        {"output": "cü", "truncated": True, "exitStatus": {"exitCode": 1, "signal": None}},
    ]


def test_a_command_can_be_killed(tmp_path: Path) -> None:
    assert turn(tmp_path, "kill")[1] == [
        {"output": "", "truncated": False},
        {"exitCode": None, "signal": str(int(signal.SIGKILL))},
    ]


def test_what_cannot_be_done_is_answered_with_an_error(tmp_path: Path) -> None:
    done, said, _ = turn(tmp_path, "unknown")
    assert said == [
        {"code": -32601, "message": "there is no method terminal/dance"},
        {"code": -32603, "message": "KeyError: 'nope'"},
    ]
    assert done.exit_code == 0


def test_what_is_no_message_is_passed_over(tmp_path: Path) -> None:
    _, said, execution = turn(tmp_path, "noise")
    assert (said, execution.status) == (["after it"], Status.COMPLETED)


def test_the_agent_is_told_how_to_sign_in_and_in_which_mode_to_work(tmp_path: Path) -> None:
    assert turn(tmp_path, "end_turn", auth="key", mode="yolo")[1] == [
        ["authenticate", {"methodId": "key"}],
        ["session/set_mode", {"sessionId": "s1", "modeId": "yolo"}],
    ]


def test_an_agent_that_ends_in_the_middle_says_so(tmp_path: Path) -> None:
    done, _, execution = turn(tmp_path, "gone")
    assert (done.exit_code, execution.status) == (1, Status.AGENT_ERROR)
    assert execution.message == (
        "it ended before it was done, with exit code 1: "
        "session/prompt: the agent ended without an answer"
    )


def test_an_error_in_place_of_a_turn_says_what_it_was(tmp_path: Path) -> None:
    done, _, execution = turn(tmp_path, "error")
    assert (done.exit_code, execution.status) == (1, Status.AGENT_ERROR)
    assert execution.message == "Internal error: {'details': 'no'}"


@pytest.mark.parametrize(
    ("reason", "status", "flags"),
    [
        ("end_turn", Status.COMPLETED, ()),
        ("max_turn_requests", Status.COMPLETED, (Flag.MAX_TURNS,)),
        ("refusal", Status.REFUSAL, ()),
    ],
)
def test_the_turn_ends_with_its_reason(
    tmp_path: Path, reason: str, status: Status, flags: tuple[Flag, ...]
) -> None:
    _, _, execution = turn(tmp_path, reason)
    assert (execution.status, execution.flags) == (status, flags)
    assert execution.trace.events[0].text == reason


def test_an_agent_that_will_not_end_is_ended_with_its_processes(tmp_path: Path) -> None:
    done, (pid,), execution = turn(tmp_path, "stubborn")
    assert (done.exit_code, execution.status) == (0, Status.COMPLETED)
    assert ended(int(pid))


def test_placeholders_are_filled_in_arguments_variables_and_files(tmp_path: Path) -> None:
    run = agent_run(tmp_path)
    runtime = acp(
        argv=[sys.executable, "--url={url}/v1", '-c={"a": "{model}"}', "{state} {workspace}"],
        env={"KEY": "{token}", "PLACE": "{home}"},
        files={".config/x.toml": "model = '{model}'\n"},
    )
    runtime.prepare(run)
    config = json.loads((run.state / "acp.json").read_text())
    assert config["argv"][1:] == [
        "--url=http://127.0.0.1:8080/v1",
        '-c={"a": "toy"}',
        f"{run.state} {run.workspace}",
    ]
    assert runtime.command(run).env == {"KEY": "t0ken", "PLACE": str(run.home)}
    assert (run.home / ".config" / "x.toml").read_text() == "model = 'toy'\n"


def test_the_agent_is_found_among_the_runtimes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("1.0", "2.0"):
        program = tmp_path / f"dancer@{version}" / "node_modules" / ".bin" / "dance"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho {version}\n")
        program.chmod(0o755)
    monkeypatch.setenv("AGENTBENCH_RUNTIMES", str(tmp_path))
    info = acp(argv=["dance"], skills_folder=".dance/skills").probe()
    assert (info.version, len(info.digest), info.endpoint) == ("2.0", 64, True)
    old = RuntimeProfile(name="old", adapter="acp", version="1.0", options={"argv": ["dance"]})
    assert Acp(old).probe().version == "1.0"
    assert "dancer@1.0" in str(Acp(old).program)


def test_links_are_followed_but_for_the_last(tmp_path: Path) -> None:
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "link").symlink_to("venv")
    runtime = acp(argv=[str(tmp_path / "link" / "bin" / "python")])
    assert runtime.program == tmp_path / "venv" / "bin" / "python"


def test_an_agent_that_is_missing_says_how_to_install_it() -> None:
    runtime = acp(argv=["no-such-agent"], install="npm install no-such-agent")
    with pytest.raises(RuntimeUnavailable) as caught:
        runtime.probe()
    assert str(caught.value) == (
        "no-such-agent is not on PATH. Install it with:\n    npm install no-such-agent"
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"argv": []}, "argv is needed: the agent and its arguments"),
        ({"argv": "x"}, "argv must be a list of texts, not 'x'"),
        (
            {"env": {"A": "{prompt}"}},
            (
                "there is no placeholder {prompt}; allowed: {url}, {token}, {model}, {home}, "
                "{state}, {workspace}"
            ),
        ),
        ({"env": ["x"]}, "env must be a table of texts, not ['x']"),
        (
            {"files": {"../x": ""}},
            "'../x' leads out of where it belongs; allowed: relative paths without '..'",
        ),
        (
            {"skills_folder": "/x"},
            "'/x' leads out of where it belongs; allowed: relative paths without '..'",
        ),
        ({"offers": ["terminals"]}, "offers has 'terminals'; allowed: fs, terminal"),
        ({"auth": 1}, "auth must be a text, not 1"),
        (
            {"stdin": "prompt"},
            (
                "unknown option 'stdin'; allowed: argv, env, files, auth, mode, offers, install, "
                "readable, capabilities, skills_folder"
            ),
        ),
    ],
)
def test_a_profile_that_makes_no_sense_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ProfileError) as caught:
        acp(**options)
    assert str(caught.value) == f"[tool.agentbench.runtimes.mine]: {problem}"
