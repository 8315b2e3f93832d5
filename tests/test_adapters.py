"""What holds for every adapter: its options, its command, its surface, a run that left nothing."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.execution import Completed
from pytest_agentbench.runtimes.packaged import Packaged
from pytest_agentbench.runtimes.protocol import RuntimeUnavailable
from pytest_agentbench.runtimes.registry import ADAPTERS
from pytest_agentbench.status import Status
from pytest_agentbench.trace.events import Tool
from pytest_agentbench.trace.surfaces import SURFACES, surface
from pytest_agentbench.trial import ProfileError
from tests.transcripts import agent_run, profile, script

#: Options that an adapter has beside those of all that come as a package.
PACKAGED = {
    "claude-code": "",
    "codex": "",
    "gemini-cli": "",
    "ironclaw": "",
    "mini-swe-agent": "",
    "nanobot": ", context_window",
    "openclaw": ", node, context_window",
    "opencode": "",
    "openhands": "",
}
EVERY = pytest.mark.parametrize("name", PACKAGED)


def adapter(name: str, **options: Any) -> Any:
    return ADAPTERS[name](profile(name, **options))


def install(root: Path, name: str) -> Path:
    """The program as npm or pip lays it, in the tested version, without what it does."""
    package = adapter(name).package
    if package.registry == "pip":
        info = f"{package.package.replace('-', '_')}-{package.tested}.dist-info"
        (root / "venv" / "lib" / "python3.12" / "site-packages" / info).mkdir(parents=True)
        return script(root / "venv" / "bin" / package.program)
    folder = root / "lib" / "node_modules" / package.package
    program = script(folder / "bin" / package.program)
    about = {"name": package.package, "version": package.tested}
    (folder / "package.json").write_text(json.dumps(about))
    return program


@pytest.fixture(autouse=True)
def runtimes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of runtimes, with a Node.js in it."""
    folder = tmp_path / "runtimes"
    script(folder / "node@24" / "node_modules" / "node" / "bin" / "node", "echo v24.16.0")
    monkeypatch.setenv("AGENTBENCH_RUNTIMES", str(folder))
    return folder


def refusal(name: str, **options: Any) -> str:
    with pytest.raises(ProfileError) as caught:
        adapter(name, **options)
    where, _, problem = str(caught.value).partition(": ")
    assert where == "[tool.agentbench.runtimes.mine]"
    return problem


def test_each_adapter_that_comes_as_a_package_is_looked_at() -> None:
    needed: dict[str, dict[str, Any]] = {"command": {"argv": ["sh"]}, "acp": {"argv": ["sh"]}}
    made = {name: make(profile(name, **needed.get(name, {}))) for name, make in ADAPTERS.items()}
    assert {name for name in made if isinstance(made[name], Packaged)} == set(PACKAGED)
    assert {name: each.name for name, each in made.items()} == {name: name for name in ADAPTERS}


@EVERY
def test_options_that_make_no_sense_are_refused(name: str) -> None:
    known = f"path, args, env{PACKAGED[name]}"
    assert refusal(name, effort="low") == f"unknown option 'effort'; allowed: {known}"
    assert refusal(name, args="x") == "args must be a list of texts, not 'x'"
    assert refusal(name, env={"A": 1}) == "env must be a table of texts, not {'A': 1}"
    assert refusal(name, path=1) == "path must be a text, not 1"


@pytest.mark.parametrize("name", ["nanobot", "openclaw"])
@pytest.mark.parametrize("value", [0, True])
def test_a_window_that_is_no_number_of_tokens_is_refused(name: str, value: object) -> None:
    problem = f"context_window must be a whole number above 0, not {value}"
    assert refusal(name, context_window=value) == problem


@EVERY
def test_a_program_that_is_not_there_makes_it_unavailable(name: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeUnavailable) as caught:
        adapter(name, path=str(tmp_path / "none")).probe()
    assert str(caught.value) == f"{tmp_path / 'none'}, the profile's path, is no program"


@EVERY
def test_the_command_has_private_state_and_what_the_profile_adds(name: str, tmp_path: Path) -> None:
    run, program = agent_run(tmp_path, name), install(tmp_path, name)
    runtime = adapter(name, path=str(program), args=["--more", "x y"], env={"EXTRA": "1"})
    runtime.prepare(run)
    command = runtime.command(run)
    assert str(program) in command.argv
    assert ("--more", "x y") in list(zip(command.argv, command.argv[1:], strict=False))
    assert not [word for word in command.argv if "t0ken" in word]
    assert command.cwd == run.workspace
    assert command.env["EXTRA"] == "1"
    assert command.view.writable == (run.state,)
    assert program in command.view.readable
    assert not list(run.workspace.iterdir())
    # In the place of a folder that OpenHands would fill from a server.
    own = [".openhands"] if name == "openhands" else []
    assert [path.name for path in run.home.iterdir()] == own


@EVERY
def test_what_the_profile_says_of_a_variable_is_put_on_top(name: str, tmp_path: Path) -> None:
    run, program = agent_run(tmp_path, name), install(tmp_path, name)
    runtime = adapter(name, path=str(program))
    runtime.prepare(run)
    first = next(iter(runtime.command(run).env))
    changed = adapter(name, path=str(program), env={first: "changed"})
    assert changed.command(run).env[first] == "changed"


@EVERY
def test_a_run_without_a_transcript_says_what_the_program_said(name: str, tmp_path: Path) -> None:
    runtime = adapter(name, path=str(install(tmp_path, name)))
    # What IronClaw prints is its answer. Of the others it is no object that tells of an end.
    said = b"" if name == "ironclaw" else b"[1]"
    done = Completed(exit_code=2, stdout=said, stderr=b"error: unknown option '--nope'\n")
    execution = runtime.collect(agent_run(tmp_path, name), done)
    assert (execution.status, execution.message) == (
        Status.AGENT_ERROR,
        "it ended before it was done, with exit code 2: error: unknown option '--nope'",
    )


@pytest.mark.parametrize("name", SURFACES)
def test_the_surface_is_found_by_the_name_of_the_runtime(name: str) -> None:
    module = import_module(f"pytest_agentbench.trace.{name.replace('-', '_')}")
    found = surface(name)
    assert found is module.SURFACE
    assert (found.runtime, found.version > 0) == (name, True)
    assert {native.tool for native in found.tools.values()} <= set(Tool)
    assert name in ADAPTERS
