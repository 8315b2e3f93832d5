"""Run again on request, and never by accident under what is no longer the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.redaction import Redactor
from pytest_agentbench.report.artefacts import TRIES, write_artefacts
from pytest_agentbench.report.plan import read_plan
from tests.project import Project

TABLE = """
[tool.agentbench.runtimes.half]
adapter = "command"
argv = ["sh", "-c", "{line}"]
"""


def report(project: Project) -> dict[str, Any]:
    return dict(json.loads((project.path / "run" / "report.json").read_text()))


def row(project: Project) -> dict[str, Any]:
    return dict(report(project)["rows"][0])


def changed(project: Project) -> None:
    path = project.path / "scenarios" / "shout.yaml"
    path.write_text(path.read_text().replace("in upper case", "in capitals"))


def test_what_has_changed_is_refused_with_the_part_that_differs(
    project: Project, workers: list[str]
) -> None:
    project.bench("--trials=2").assert_outcomes(passed=2)
    before = project.lines()
    was = read_plan(project.path / "run" / "plan.json").trials[0].lock
    changed(project)
    result = project.bench("--trials=2", *workers)
    assert result.ret == (2 if workers else pytest.ExitCode.USAGE_ERROR)
    text = "\n".join([*result.outlines, *result.errlines])
    assert (
        "plan.json: what this run began with has changed: scenario 'shout': scenario "
        f"({was['scenario'][:12]} before, "
    ) in text
    assert (
        " now). Within a run all that a score depends on stays as it is: undo the change, choose "
        "another --run-dir, or give --accept-changes, which plans the new version in place of the "
        "old, whose records then count nowhere"
    ) in text
    assert [line for line in project.lines() if line["event"] == "graded"] == [
        line for line in before if line["event"] == "graded"
    ]
    assert read_plan(project.path / "run" / "plan.json").trials[0].lock == was


def test_limits_that_are_no_hash_are_told_as_they_are(project: Project) -> None:
    project.bench().assert_outcomes(passed=1)
    result = project.bench("--timeout-multiplier=2")
    assert any(
        "scenario 'shout': --timeout-multiplier (1.0 before, 2.0 now)." in line
        for line in result.errlines
    )


def test_accepted_changes_take_the_place_of_what_was(project: Project) -> None:
    project.bench().assert_outcomes(passed=1)
    changed(project)
    result = project.bench("--accept-changes")
    result.assert_outcomes(passed=1)
    assert report(project)["strays"] == 1
    result.stdout.fnmatch_lines(["*1 record of trials that are not planned*counted nowhere*"])


def test_infra_adds_an_attempt_and_keeps_the_old(project: Project, workers: list[str]) -> None:
    conftest = project.write(
        "conftest.py",
        "import pytest\n@pytest.fixture\ndef skills(): raise ValueError('broken')\n",
    )
    project.bench(*workers).assert_outcomes(errors=1)
    assert row(project)["labels"] == ["incomplete"]
    conftest.unlink()
    result = project.bench("--rerun=infra", "--trials=2", *workers)
    result.assert_outcomes(passed=2)
    assert [r["status"] for r in project.records()].count("harness_error") == 1
    found = row(project)
    assert found["labels"] == ["clean_after_rerun", "subset"]
    counted = {name: view["trials"] for name, view in found["views"].items()}
    assert counted == {"clean": 1, "clean_after_rerun": 2, "incomplete": 2}
    result.stdout.fnmatch_lines(
        ["*clean_after_rerun: 1 trial needed another attempt*", "*1.000 of 1 *"]
    )
    attempts = [trial["attempts"] for trial in report(project)["trials"]]
    assert [a["status"] for each in attempts for a in each] == ["harness_error"]


def test_what_a_trial_did_and_scored_before_can_still_be_seen(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    said = project.path / "said"
    line = f"cat {said} && mkdir out && cp {said} out/answer.json"
    table = TABLE.format(line=line) + f"readable = ['{said}']\n"
    project.write("pyproject.toml", table)
    for text in ("first", "done", '{"word": "LOWER"} done'):
        said.write_text(text)
        again = [] if text == "first" else ["--rerun=failed"]
        project.bench(*again, "--gate=none", runtime="half")
    record = project.records()[-1]
    folder = project.path / "run" / "trials" / record["key"]
    kept = [folder / "attempt-1", folder / "attempt-2", folder]
    outputs = [(each / "stdout").read_text() for each in kept]
    assert outputs == ["first", "done", '{"word": "LOWER"} done']
    scores = [json.loads((each / "grade.json").read_text())["score"] for each in kept]
    assert scores == [record["grade"]["score"] for record in project.records()]
    capsys.readouterr()
    assert main(["show", "run", record["key"][:12]]) == 0
    shown = capsys.readouterr().out
    assert f"{scores[0]:.4g}, not passed, completed; failed: word, said, read_first" in shown
    assert main(["show", "run", record["key"][:12], "--json"]) == 0
    earlier = json.loads(capsys.readouterr().out)["earlier"]
    assert [each["grade"]["score"] for each in earlier] == scores[:2]


def test_of_many_tries_the_first_are_kept(tmp_path: Path) -> None:
    for number in range(TRIES + 3):
        write_artefacts(tmp_path / "t", {"stdout": f"try {number}"}, Redactor.here())
    kept = sorted(path.name for path in (tmp_path / "t").iterdir())
    assert kept == [*(f"attempt-{number + 1}" for number in range(TRIES)), "stdout"]
    assert (tmp_path / "t" / "attempt-1" / "stdout").read_text() == "try 0"
    assert (tmp_path / "t" / "stdout").read_text() == f"try {TRIES + 2}"


@pytest.mark.parametrize("which", ["failed", "key", "id"])
def test_scores_that_are_asked_for_again_make_the_run_tuned(
    project: Project, workers: list[str], which: str
) -> None:
    project.scenario("other")
    project.write("pyproject.toml", TABLE.format(line="cat word.txt"))
    project.bench("-k", "shout", runtime="half").assert_outcomes(failed=1)
    project.bench(runtime="half").assert_outcomes(failed=2)
    first = next(r for r in project.records() if r["scenario"]["id"] == "shout")
    name = {"failed": "failed", "key": first["key"][:10], "id": "shout[half-baseline-t1]"}[which]
    result = project.bench(f"--rerun={name}", *workers, runtime="half")
    result.assert_outcomes(failed=2)
    again = project.records()[2:]
    assert len(again) == (2 if which == "failed" else 1)
    assert all(record["flags"] == ["rerun_after_score"] for record in again)
    assert row(project)["labels"][0] == "tuned"
    assert row(project)["views"]["clean"]["trials"] == 2 - len(again)
    many = "2 trials" if which == "failed" else "1 trial"
    result.stdout.fnmatch_lines([f"*tuned: {many} that had a score ran again on request*"])
    # It stays tuned, whatever is run later.
    project.bench(runtime="half").assert_outcomes(failed=2)
    assert row(project)["labels"][0] == "tuned"


def test_a_rerun_of_what_is_not_there_is_a_usage_error(project: Project) -> None:
    result = project.bench("--rerun=failed")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert (
        "ERROR: --rerun=failed: the folder 'run' holds no run; give the folder of one with "
        "--run-dir=DIR"
    ) in result.errlines
    project.bench().assert_outcomes(passed=1)
    result = project.bench("--rerun=fail")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "\n".join(result.errlines).startswith(
        "ERROR: --rerun: run has no trial fail; give the beginning of a key, or an id such as:\n"
        "  shout[oracle-baseline-t1]; or infra, or failed"
    )
    project.scenario("other")
    result = project.bench("--rerun=shout[oracle-baseline-t1]", "-k", "other")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any("is not among the trials that were collected; give" in x for x in result.errlines)


def test_the_primary_view_is_declared_before_the_run(project: Project) -> None:
    result = project.bench("--view=best")
    assert (
        "ERROR: --view: 'best' is not known; allowed: clean, clean_after_rerun, incomplete"
        in result.errlines
    )
    table = "[tool.agentbench.defaults]\nview = 'incomplete'\n"
    project.write("pyproject.toml", table)
    result = project.bench("--trials=2")
    result.assert_outcomes(passed=2)
    head = next(line for line in result.outlines if line.startswith("primary view first"))
    assert head.split()[3:] == ["incomplete", "clean", "clean_after_rerun"]
    assert report(project)["view"] == "incomplete"
    result = project.bench("--view=clean")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert (
        "ERROR: plan.json: --view=clean: this run was begun with the primary view incomplete, "
        "which is declared before a run and does not change; leave the option out, or choose "
        "another --run-dir"
    ) in result.errlines
