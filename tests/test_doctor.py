"""``agentbench doctor``: which runtimes can be used here, and what to type for those that cannot."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import yaml  # noqa: F401 - pytester forgets what a test imports, and its C part cannot come twice

from pytest_agentbench.cli import main
from pytest_agentbench.runtimes.registry import ADAPTERS
from tests.project import Project

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def runtimes(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of runtimes, and none on the PATH; we are in the project."""
    folder = project.path / "runtimes"
    folder.mkdir()
    monkeypatch.setenv("AGENTBENCH_RUNTIMES", str(folder))
    monkeypatch.setenv("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
    monkeypatch.chdir(project.path)
    return folder


def install(path: Path, version: str) -> Path:
    """A program that says its version."""
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho it is {version}\n")
    path.chmod(0o755)
    return path


def doctor(capsys: Capture, *args: str) -> tuple[int, list[str]]:
    capsys.readouterr()
    code = main(["doctor", *args])
    return code, capsys.readouterr().out.splitlines()


def test_a_runtime_that_is_named_does_a_trial(runtimes: Path, capsys: Capture) -> None:
    code, lines = doctor(capsys, "minimal")
    assert code == 0
    text = "\n".join(lines)
    assert re.fullmatch(
        r"""sandbox bwrap \(auto; strongest that works\)

minimal: usable
  version    1
  sha256     [0-9a-f]{64}
  trial      completed, solved, [\d.]+ s \(the model is scripted\)
  seen       4 requests; 3 tool calls, 3 results
  tools      read, exec, write
  usage      gateway (.+) in \+ (.+) out.*; transcript \1 in \+ \2 out: the same

1 of 1 usable""",
        text,
    ), text


def test_a_trial_that_is_not_solved_tells(
    runtimes: Path, project: Project, capsys: Capture
) -> None:
    table = "[tool.agentbench.runtimes.short]\nadapter = 'minimal'\nmax_turns = 1\n"
    project.write("pyproject.toml", table)
    code, lines = doctor(capsys, "short")
    assert code == 1
    assert "short (adapter minimal): not usable" in lines
    assert any(re.match(r"  trial      completed, not solved, ", line) for line in lines)
    assert "             first: answer.json does not exist" in lines


def test_what_is_missing_can_be_typed(runtimes: Path, capsys: Capture) -> None:
    code, lines = doctor(capsys, "codex", "codex@0.150.0")
    assert code == 1
    npm = f"npm install --prefix {runtimes}"
    assert lines[2:] == [
        "codex: not usable",
        "  codex is not installed. Install it with:",
        f"      {npm}/codex@0.171.0 @openai/codex@0.171.0",
        "",
        "codex@0.150.0 (adapter codex): not usable",
        "  codex 0.150.0 is not installed. Install it with:",
        f"      {npm}/codex@0.150.0 @openai/codex@0.150.0",
        "",
        "0 of 2 usable",
    ]


def test_a_version_that_the_adapter_was_not_tested_with_is_told(
    runtimes: Path, capsys: Capture
) -> None:
    program = install(runtimes / "codex@0.1.0" / "node_modules" / ".bin" / "codex", "0.1.0")
    code, lines = doctor(capsys, "codex", "--no-try")
    assert code == 0
    assert "  version    0.1.0; the adapter was tested with 0.171.0" in lines
    assert f"  program    {program}" in lines
    assert any(re.fullmatch(r"  sha256     [0-9a-f]{64}", line) for line in lines)
    assert not [line for line in lines if "install" in line]


def test_it_says_what_a_runtime_runs_on(runtimes: Path, capsys: Capture) -> None:
    code, lines = doctor(capsys, "openclaw", "--no-try")
    assert code == 1
    (need,) = (line for line in lines if line.startswith("  needs"))
    assert re.match(r"  needs      Node\.js [\d.]+ or newer: ", need)
    program = install(runtimes / "nanobot@0.3.5" / "bin" / "nanobot", "0.3.5")
    (program.parent / "python").symlink_to(sys.executable)
    code, lines = doctor(capsys, "nanobot", "--no-try")
    assert code == 0
    ours = ".".join(map(str, sys.version_info[:3]))
    assert f"  needs      Python 3.11 or newer: {program.parent / 'python'}, {ours}" in lines


def test_without_names_all_are_looked_at_and_only_own_profiles_count(
    runtimes: Path, project: Project, capsys: Capture
) -> None:
    project.write("pyproject.toml", "[tool.agentbench.runtimes.mine]\nadapter = 'oracle'\n")
    code, lines = doctor(capsys)
    assert code == 0
    named = [re.match(r"(\S+).*: (usable|not usable)$", line) for line in lines]
    found = {match[1]: match[2] for match in named if match}
    assert list(found) == [*ADAPTERS, "mine"]
    assert (found["codex"], found["oracle"], found["mine"]) == ("not usable", "usable", "usable")
    assert not [line for line in lines if line.startswith("  trial")]
    project.write(
        "pyproject.toml", "[tool.agentbench.runtimes.mine]\nadapter = 'command'\nargv = ['gone']\n"
    )
    code, lines = doctor(capsys)
    assert code == 1
    at = lines.index("mine (adapter command): not usable")
    assert lines[at + 1] == "  gone is not on PATH; install it"


def test_a_runtime_with_its_own_way_to_a_model_is_not_tried(
    runtimes: Path, project: Project, capsys: Capture
) -> None:
    project.write(
        "pyproject.toml",
        "[tool.agentbench.runtimes.own]\nadapter = 'command'\nargv = ['true']\n"
        "max_concurrent = 3\n",
    )
    code, lines = doctor(capsys, "own")
    assert code == 0
    reason = "it reaches no model through the gateway, so no script can stand in for one"
    assert f"  trial      none: {reason}" in lines
    assert "  at once    at most 3 on this machine" in lines


def test_it_gives_json(runtimes: Path, capsys: Capture) -> None:
    code, lines = doctor(capsys, "minimal", "codex", "--json")
    assert code == 1
    found = json.loads("\n".join(lines))
    assert found["sandbox"] == {"name": "bwrap", "reason": "auto; strongest that works"}
    minimal, codex = found["runtimes"]
    assert (minimal["usable"], codex["usable"]) == (True, False)
    assert minimal["tried"]["tools"] == {"read": "read", "exec": "exec", "write": "write"}
    assert minimal["tried"]["same_usage"] is True
    assert (codex["tested"], codex["tried"]) == ("0.171.0", None)
    assert (
        codex["install"] == f"npm install --prefix {runtimes}/codex@0.171.0 @openai/codex@0.171.0"
    )


def test_wrong_usage_is_told(runtimes: Path, project: Project, capsys: Capture) -> None:
    known = ", ".join(sorted(ADAPTERS))
    assert doctor(capsys, "codxe") == (
        2,
        [
            (
                f"agentbench doctor: runtime: 'codxe' is not known (did you mean 'codex'?); allowed: {known}; "
                "no pyproject.toml with [tool.agentbench] was found"
            )
        ],
    )
    project.write("pyproject.toml", "[tool.agentbench]\nruntimes = 3\n")
    assert doctor(capsys, "nop") == (
        2,
        ["agentbench doctor: pyproject.toml: [tool.agentbench]: runtimes must be a table"],
    )
    project.write("pyproject.toml", "")
    available = "auto, bwrap, unshare, subreaper, docker, none"
    assert doctor(capsys, "nop", "--sandbox=box") == (
        2,
        [f"agentbench doctor: --sandbox: unknown sandbox 'box'; available: {available}"],
    )
