"""Suites that stay what they were: profiles, frozen selectors, repairs and retirements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.scenario.load import load
from tests.project import Project

Capture = pytest.CaptureFixture[str]
#: Before any test: pytester forgets modules that were first imported in one, and a second copy of the
#: parser does not know the events of the first.
LOADED = load


@pytest.fixture
def suite(project: Project, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Three scenarios, of which a selector has two."""
    monkeypatch.chdir(project.path)
    project.scenario("whisper", tags="loud")
    assert main(["freeze", "scenarios", "--name", "words-2", "-o", "words.json"]) == 0
    assert capsys.readouterr().out == "words.json: words-2, 2 scenarios\n"
    project.scenario("extra")
    return project


def said(capsys: Capture, *args: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(list(args))
    return code, capsys.readouterr().out


def test_a_selector_runs_exactly_what_it_has(suite: Project, workers: list[str]) -> None:
    result = suite.bench("--selector=words.json", "--trials=3", *workers)
    result.assert_outcomes(passed=6)
    assert {record["scenario"]["id"] for record in suite.records()} == {"shout", "whisper"}
    report = json.loads((suite.path / "run" / "report.json").read_text())
    assert report["profile"] == "words-2"
    assert report["rows"][0]["final"] is not None  # three trials over a whole profile


def test_a_part_of_it_is_no_whole_profile(suite: Project) -> None:
    suite.bench("--selector=words.json", "--trials=3", "-k", "shout").assert_outcomes(passed=3)
    report = json.loads((suite.path / "run" / "report.json").read_text())
    assert report["profile"] == ""
    assert report["rows"][0]["final"] is None


def test_changed_content_is_refused_with_the_file_and_the_part(
    suite: Project, workers: list[str], capsys: Capture
) -> None:
    path = suite.path / "scenarios" / "whisper.yaml"
    path.write_text(path.read_text().replace("lower", "LOWER", 1))
    result = suite.bench("--selector=words.json", *workers)
    assert result.ret != 0
    shown = result.stdout.str() + result.stderr.str()
    assert "the suite is not words-2 as it was frozen:" in shown
    assert "whisper (whisper.yaml) has changed: scenario was " in shown
    assert not (suite.path / "run" / "ledger.jsonl").exists()
    code, told = said(capsys, "verify", "words.json", "scenarios")
    assert code == 1
    assert "whisper (whisper.yaml) has changed: scenario was " in told
    assert ", inputs was " in told
    assert told.endswith(
        "words-2: 2 scenarios, 1 not as they were frozen; 1 more are no part of it\n"
    )


def test_a_scenario_that_is_gone_is_missed(suite: Project, capsys: Capture) -> None:
    (suite.path / "scenarios" / "shout.yaml").unlink()
    result = suite.bench("--selector=words.json")
    result.stderr.fnmatch_lines(["*shout (shout.yaml) is not there*"])
    assert said(capsys, "verify", "words.json", "scenarios")[0] == 1


def test_a_repair_is_on_record_with_the_rows_that_it_affects(
    suite: Project, capsys: Capture
) -> None:
    suite.bench("--selector=words.json")
    path = suite.path / "scenarios" / "whisper.yaml"
    path.write_text(path.read_text() + "# mended\n")
    args = ("suite", "repair", "words.json", "whisper", "scenarios", "--reason", "a typo")
    code, told = said(capsys, *args, "--runs", "run")
    assert (code, told) == (
        0,
        "whisper: repaired; 1 rows were made before\n  run: oracle · baseline\n",
    )
    assert said(capsys, "verify", "words.json", "scenarios")[0] == 0
    data = json.loads((suite.path / "words.json").read_text())
    (change,) = data["history"]
    assert (change["action"], change["reason"], change["rows"]) == (
        "repair", "a typo", ["run: oracle · baseline"]
    )  # fmt: skip
    assert list(change["before"]) == list(change["after"]) == ["scenario"]
    assert change["before"]["scenario"] != change["after"]["scenario"]
    assert said(capsys, *args) == (
        2,
        "agentbench suite repair: whisper is as it was frozen: there is nothing to repair\n",
    )


def test_a_retired_scenario_is_run_no_more(suite: Project, capsys: Capture) -> None:
    args = ("suite", "retire", "words.json", "shout", "--reason", "saturated")
    assert said(capsys, *args) == (0, "shout: retired; 0 rows were made before\n")
    suite.bench("--selector=words.json").assert_outcomes(passed=1)
    assert said(capsys, *args)[1] == (
        "agentbench suite retire: shout is retired already: saturated\n"
    )
    assert said(capsys, "suite", "retire", "words.json", "whimper", "--reason", "x")[1] == (
        "agentbench suite retire: words-2 has no scenario 'whimper'; it has: whisper\n"
    )
    assert said(capsys, "suite", "retire", "words.json", "whisper", "--reason", "x")[0] == 0
    code, told = said(capsys, "suite", "repair", "words.json", "yell", "scenarios", "--reason", "x")
    assert (code, told.partition("; ")[2]) == (2, "it has: none that is not retired\n")
    result = suite.bench("--selector=words.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--selector: words.json: every scenario of words-2 is retired (shout, whisper)*"]
    )
    assert said(capsys, "verify", "words.json", "nowhere") == (
        2,
        "agentbench verify: nowhere: does not exist\n",
    )


def test_freezing_the_same_gives_the_same_bytes(suite: Project, capsys: Capture) -> None:
    (suite.path / "scenarios" / "extra.yaml").unlink()
    said(capsys, "freeze", "scenarios", "--name", "words-2", "-o", "again.json")
    assert Path("again.json").read_bytes() == Path("words.json").read_bytes()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "words.json: no JSON: "),
        ("{}", "words.json: no selector (KeyError: 'agentbench_selector'); make one with "),
        ('{"agentbench_selector": 9}', "words.json: a selector of version 9; this version of "),
    ],
)
def test_what_is_no_selector_is_refused(
    suite: Project, capsys: Capture, text: str, problem: str
) -> None:
    suite.write("words.json", text)
    code, told = said(capsys, "verify", "words.json", "scenarios")
    assert code == 2
    assert told.startswith(f"agentbench verify: {problem}")
    suite.bench("--selector=words.json").stderr.fnmatch_lines(["*--selector: *words.json*"])


PROFILE = """
[tool.agentbench.profiles.loud]
tags = ["loud"]
"""


def test_a_profile_runs_the_scenarios_with_its_tags(suite: Project, workers: list[str]) -> None:
    config = suite.path / "pyproject.toml"
    config.write_text(config.read_text() + PROFILE)
    suite.bench("--profile=loud", *workers).assert_outcomes(passed=1)
    assert [record["scenario"]["id"] for record in suite.records()] == ["whisper"]
    result = suite.bench("--profile=core", *workers)
    assert result.ret != 0
    tags = "(benchmark-active, benchmark-core, benchmark-intelligence); tags there: loud, text"
    assert (
        f"--profile core: no scenario that was collected has all of its tags {tags}"
        in result.stdout.str() + result.stderr.str()
    )
    result = suite.bench("--profile=quiet")
    result.stderr.fnmatch_lines(
        [
            "*--profile: 'quiet' is not known*; allowed: core, coverage, full, intelligence, loud, native*"
        ]
    )
    result = suite.bench("--profile=loud", "--selector=words.json")
    result.stderr.fnmatch_lines(["*--profile and --selector are two ways to say what is run*"])
    config.write_text(config.read_text().replace('["loud"]', "[]"))
    result = suite.bench("--profile=loud")
    result.stderr.fnmatch_lines(["*[[]tool.agentbench.profiles.loud] needs tags*"])
