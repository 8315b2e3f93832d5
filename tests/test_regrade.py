"""A finished run graded again from what it kept."""

from __future__ import annotations

import json

import pytest

from tests.judged_project import judged
from tests.project import Project


def regrade(project: Project, *args: str, ret: int = 0) -> pytest.RunResult:
    result = project.command("regrade", "run", *args)
    assert result.ret == ret, result.outlines + result.errlines
    return result


def finished(project: Project, *args: str) -> None:
    """A run of two judged scenarios and one that is none's to judge."""
    judged(project)
    judged(project, name="murmur", policy="composite")
    project.scenario("plain")
    project.bench("--trials=2", *args)


def read(project: Project, name: str) -> bytes:
    return (project.path / name).read_bytes()


def test_the_same_judge_gives_the_same_bytes(project: Project) -> None:
    finished(project, "--judge=fair")
    result = regrade(project, "--judge=fair", "-o", "again")
    (line,) = result.outlines
    assert line.startswith(
        "again: 4 trials graded again, 0 of them otherwise; 0 without a verdict; 2 "
    )
    assert read(project, "again/ledger.jsonl") == read(project, "run/ledger.jsonl")
    assert read(project, "again/plan.json") == read(project, "run/plan.json")
    for record in project.records():
        name = f"trials/{record['key']}/grade.json"
        assert read(project, f"again/{name}") == read(project, f"run/{name}")


def test_another_judge_moves_the_judges_parts_alone(project: Project) -> None:
    finished(project, "--judge=fair")
    before = {name: read(project, f"run/{name}") for name in ("ledger.jsonl", "plan.json")}
    regrade(project, "--judge=strict", "-o", "again")
    assert before == {name: read(project, f"run/{name}") for name in before}
    for old, new in zip(project.records(), project.records("again"), strict=True):
        if old["scenario"]["id"] == "plain":
            assert old == new
            continue
        differs = {name for name in old if old[name] != new[name]}
        assert differs == {"key", "lock", "grade", "observed"}
        assert {n for n in old["observed"] if old["observed"][n] != new["observed"][n]} == {
            "judge",
            "judging",
        }
        assert {n for n in old["lock"] if old["lock"][n] != new["lock"][n]} == {"judge"}
        assert old["grade"]["checks"] == new["grade"]["checks"]
        verdicts = zip(
            old["grade"]["rubric"]["verdicts"], new["grade"]["rubric"]["verdicts"], strict=True
        )
        for a, b in verdicts:
            assert (a == b) is (a["source"] == "check")
        composite = old["scenario"]["policy"] == "composite"
        assert (old["grade"]["score"] == new["grade"]["score"]) is composite


def test_the_new_folder_is_a_run(project: Project) -> None:
    finished(project, "--judge=fair")
    regrade(project, "--judge=strict", "-o", "again")
    report = project.command("report", "again", "--format", "json")
    rows = {row["policy"]: row["score"] for row in json.loads(report.stdout.str())["rows"]}
    assert rows == {"rubric": 0.0, "composite": 1.0}
    project.command("regrade", "again", "--judge=fair", "-o", "back")
    assert read(project, "back/ledger.jsonl") == read(project, "run/ledger.jsonl")


def test_what_had_no_judge_gets_one(project: Project) -> None:
    finished(project)
    assert {r["status"] for r in project.records()} == {"judge_error", "completed"}
    result = regrade(project, "--judge=fair")
    result.stdout.fnmatch_lines(
        [
            "run-by-fair: 4 trials graded again, 4 of them otherwise; 0 without a verdict; 2 have *",
            "  *murmur*: score 1.000 → score 1.000, completion strict 1",
            "  *shout*: judge_error → score 1.000, completion strict 1",
        ]
    )
    records = project.records("run-by-fair")
    assert [(r["status"], r["grade"]["passed"]) for r in records] == [("completed", True)] * 6
    assert not any("undecided" in r["observed"] for r in records)


def test_a_judge_without_a_verdict_takes_no_score_for_another(project: Project) -> None:
    finished(project, "--judge=fair")
    result = regrade(project, "--judge=prose", ret=1)
    result.stdout.fnmatch_lines(["  *shout*: score 1.000, completion strict 1 → judge_error"])
    again = {(r["scenario"]["id"], r["status"]) for r in project.records("run-by-prose")}
    assert again == {("shout", "judge_error"), ("murmur", "completed"), ("plain", "completed")}


def test_evidence_that_is_gone_is_said(project: Project) -> None:
    finished(project, "--judge=fair")
    for path in (project.path / "run").rglob("judging.json*"):
        path.unlink()
    result = regrade(project, "--judge=strict", "-o", "again")
    result.stdout.fnmatch_lines(
        ["again: 0 trials graded again, *", "4 trials kept nothing to judge by*"]
    )
    assert read(project, "again/ledger.jsonl") == read(project, "run/ledger.jsonl")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            ["--judge=fair", "-o", "scenarios"],
            "*scenarios is there already; choose another folder*",
        ),
        (["--judge=nobody"], "*--judge: 'nobody' is not known; *"),
        (
            ["--judge=fair", "--judge-vote=x"],
            "*--judge-vote: 'x' is not known; allowed: majority, mean",
        ),
    ],
)
def test_what_cannot_be_done_is_said(project: Project, args: list[str], words: str) -> None:
    finished(project, "--judge=fair")
    regrade(project, *args, ret=2).stderr.fnmatch_lines([words])


def test_how_far_judges_of_one_run_agree(project: Project) -> None:
    finished(project, "--judge=fair", "--judge=strict")
    result = project.command("agree", "run")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "judges: fair, strict",
            "all verdicts: 2 on 8 items, the same on 0%; Cohen 0.00, Fleiss -1.00, Krippendorff -0.88",
            "  murmur/says_so      2 on 2 items, the same on 0%; Cohen 0.00*",
            "scores of fair and strict: 4 trials, Pearson ?, mean delta 1.00, 0% within 0.05, 0% within 0.1",
            "furthest apart",
            "  murmur/oracle//baseline/1: fair 1.00, strict 0.00 (says_so, looks_first)",
        ]
    )


def test_how_far_a_regrade_agrees(project: Project) -> None:
    finished(project, "--judge=fair")
    regrade(project, "--judge=fair", "-o", "again")
    result = project.command("agree", "run", "again")
    result.stdout.fnmatch_lines(
        [
            "judges: fair (run), fair (again)",
            "all verdicts: 2 on 8 items, the same on 100%; Cohen ?*",
        ]
    )
    alone = project.command("agree", "run")
    alone.stdout.fnmatch_lines(["judges: fair", "agreement needs two judges: of one run, or of *"])
    assert project.command("agree", "nowhere").ret == 2


def test_a_hybrid_is_blended_anew(project: Project) -> None:
    from tests.test_hooks import JUDGED

    judged(project)
    for name in ("shout.yaml", "shout.rubric.yaml"):
        (project.path / "scenarios" / name).unlink()
    criteria = "\n\n## Grading Criteria\n\n- [ ] done\n"
    project.write(
        "scenarios/task_judged.md", JUDGED.replace("Is it good?", f"Is it good?{criteria}")
    )
    project.bench("--judge=fair", "--gate=none")
    regrade(project, "--judge=fair", "-o", "again")
    assert read(project, "again/ledger.jsonl") == read(project, "run/ledger.jsonl")
    regrade(project, "--judge=prose", "-o", "silent", ret=1)
    (record,) = project.records("silent")
    assert (record["status"], record["grade"]) == ("judge_error", None)
