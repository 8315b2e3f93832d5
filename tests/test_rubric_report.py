"""Rubric scores of rows, and what a skill gains, against figures worked out by hand."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.execution import Usage
from pytest_agentbench.grade import CriterionVerdict, Grade
from pytest_agentbench.record import PlannedTrial, ScenarioFacts
from pytest_agentbench.report.json_report import build
from pytest_agentbench.report.ledger import Ledger
from pytest_agentbench.report.page_data import PageData
from pytest_agentbench.report.plan import write_plan
from pytest_agentbench.report.reader import open_run
from pytest_agentbench.report.report_schema import schema
from pytest_agentbench.report.rubric_rows import RubricRow
from pytest_agentbench.report.run import read_run
from pytest_agentbench.scenario.rubric import Criterion, Rubric
from pytest_agentbench.scoring.rubric import grade_rubric
from pytest_agentbench.status import Status

CRITERIA = tuple(
    Criterion(id=name, statement="The agent does.", kind=kind, category=topic, gatekeeper=gate)
    for name, kind, topic, gate in (
        ("c1", "completion", "durable_artifact", True),
        ("c2", "completion", "output_discipline", False),
        ("p1", "process", "phase_adherence", False),
        ("p2", "process", "phase_adherence", False),
    )
)
RUBRIC = Rubric(path=Path("x.rubric.yaml"), criteria=CRITERIA)
#: Verdicts on c1 c2 p1 p2 of each trial, ? for one that nobody gave; then steps.
BASELINE = {"a": [("1011", 10), ("0000", 20)], "b": [("1111", 30)]}
WITH_SKILL = {
    "a": [("1110", 40), ("1111", 20)],
    "b": [("0111", 10)],
    "c": [("1111", 50), ("1?11", 99)],
}


def write(
    folder: Path, modes: Mapping[str, Mapping[str, list[tuple[str, int]]]], judge: str = "model-j"
) -> Path:
    planned, lines = [], []
    for mode, scenarios in modes.items():
        for name, trials in scenarios.items():
            for index, (bits, steps) in enumerate(trials, 1):
                trial = PlannedTrial(
                    key=hashlib.sha256(f"{mode}{name}{index}".encode()).hexdigest(),
                    node_id=f"{name}.yaml::{name}[demo-{mode}-t{index}]",
                    scenario=ScenarioFacts(id=name),
                    runtime="demo",
                    adapter="demo",
                    model="",
                    mode=mode,
                    index=index,
                )
                verdicts = [
                    CriterionVerdict.of(each, bit == "1")
                    for each, bit in zip(CRITERIA, bits, strict=True)
                    if bit != "?"
                ]
                usage = Usage(input_tokens=100, output_tokens=20, cost_usd=0.001)
                message = f"judge {judge} gave no verdict on c2: it is prose" if "?" in bits else ""
                rubric = grade_rubric(
                    RUBRIC,
                    verdicts,
                    judges=(judge,) if judge else (),
                    usage=usage,
                    message=message,
                )
                grade = Grade(policy="composite", threshold=0.6, score=0.5, rubric=rubric)
                planned.append(trial)
                record = trial.end(Status.COMPLETED, grade=grade, steps=steps, tool_calls=2 * steps)
                lines.append(record.to_json())
    write_plan(folder / "plan.json", planned)
    for line in lines:
        Ledger(folder / "ledger.jsonl").append(line, wait=False)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path / "run", {"baseline": BASELINE, "with-skill": WITH_SKILL})


def rows(folder: Path) -> dict[str, RubricRow]:
    with open_run(folder) as run:
        found = run.scoreboard().rubrics
    assert found == read_run(folder).scoreboard.rubrics  # trial by trial, or read whole
    return {each.mode: each for each in found}


def test_completion_of_both_arms_and_process_with_skill_alone(run: Path) -> None:
    found = rows(run)
    without, skilled = found["baseline"], found["with-skill"]
    # a: (1/2 + 0) / 2; b: 1.
    assert (without.completion_loose, without.completion_strict) == (0.625, 0.5)
    assert (without.process_loose, without.process_strict) == (None, None)
    # a: 1; b: 1/2, its gatekeeper fails; c: 1 of its one decided trial.
    assert skilled.completion_loose == pytest.approx((1 + 0.5 + 1) / 3)
    assert skilled.completion_strict == pytest.approx(2 / 3)
    assert skilled.gated == pytest.approx(2 / 3)
    # a: (1/2 + 1) / 2; b and c: 1.
    assert skilled.process_loose == pytest.approx((0.75 + 1 + 1) / 3)
    assert skilled.process_strict == pytest.approx((0.5 + 1 + 1) / 3)
    assert (skilled.trials, skilled.undecided, skilled.scenarios) == (5, 1, 3)


def test_gains_are_over_the_scenarios_that_both_arms_have(run: Path) -> None:
    skilled = rows(run)["with-skill"]
    loose, strict = skilled.loose_gain, skilled.strict_gain
    assert loose is not None
    assert strict is not None
    # c has no baseline: a 1/4 → 1, b 1 → 1/2; strict a 0 → 1, b 1 → 0.
    assert (loose.before, loose.after, loose.change) == (0.625, 0.75, 0.125)
    assert (strict.before, strict.after, strict.change) == (0.5, 0.5, 0.0)
    assert rows(run)["baseline"].loose_gain is None


def test_effort_of_each_arm_and_what_judging_cost(run: Path) -> None:
    found = rows(run)
    # a: 15, b: 30; a: 30, b: 10, c: 50.
    assert (found["baseline"].steps, found["baseline"].tool_calls) == (22.5, 45.0)
    assert (found["with-skill"].steps, found["with-skill"].tool_calls) == (30.0, 60.0)
    skilled = found["with-skill"]
    assert (skilled.judges, skilled.judge_tokens) == (("model-j",), 600)
    assert skilled.judge_cost_usd == pytest.approx(0.005)


def test_categories_of_each_arm(run: Path) -> None:
    found = rows(run)
    assert [(c.title, c.loose, c.strict) for c in found["baseline"].categories] == [
        ("Inspectable deliverable", 0.75, 0.75),
        ("Output structure", 0.5, 0.5),
    ]
    titles = [(c.title, c.scenarios) for c in found["with-skill"].categories]
    assert titles == [
        ("Inspectable deliverable", 3),
        ("Output structure", 3),
        ("Workflow adherence", 3),
    ]


def test_criteria_that_are_missed_most(run: Path) -> None:
    found = rows(run)
    told = {
        mode: [(m.scenario, m.criterion, m.missed, m.trials) for m in row.missed]
        for mode, row in found.items()
    }
    assert told == {
        "baseline": [("a", "c2", 2, 2), ("a", "c1", 1, 2)],
        "with-skill": [("b", "c1", 1, 1), ("a", "p2", 1, 2)],
    }


def test_a_mode_without_a_baseline_has_no_gain(tmp_path: Path) -> None:
    found = rows(write(tmp_path / "run", {"with-skill": WITH_SKILL}))["with-skill"]
    assert (found.loose_gain, found.strict_gain) == (None, None)
    assert found.process_strict is not None


def test_reports_show_it(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*options: str) -> str:
        assert main(["report", str(run), *options]) == 0
        return capsys.readouterr().out

    text = printed()
    assert "completion loose  strict  process loose  strict  gated  decided  steps  calls" in text
    assert "0.833   0.667          0.917   0.833  0.667   4 of 5   30.0   60.0" in text
    assert "completion gained" in text
    assert "+0.125" in text
    assert "judged by model-j: 960 tokens" in text
    assert "1 demo · baseline: a › c2 (2 of 2), a › c1 (1 of 2)" in text
    markdown = printed("--format", "md")
    assert "### Rubrics" in markdown
    assert "| 1.000 / 1.000 |" in markdown
    read = read_run(run)
    report = json.loads(json.dumps(build(read.scoreboard, read.plan, read.view.records)))
    jsonschema.validate(report, schema())
    assert report["schema"] == "1.1"
    assert [each["mode"] for each in report["rubrics"]] == ["baseline", "with-skill"]
    assert report["trials"][-1]["grade"]["rubric"]["completion_loose"] is None
    printed("--format", "html")
    assert '"rubrics":[' in (run / "report.html").read_text("utf-8")


def test_names_of_judges_are_shown_harmless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "<b>\x1b[31m|`x`@you"
    folder = write(tmp_path / "run", {"with-skill": WITH_SKILL}, judge=hostile)
    for form in ("text", "md"):
        assert main(["report", str(folder), "--format", form]) == 0
        assert "\x1b[31m" not in capsys.readouterr().out
    assert main(["report", str(folder), "--format", "md"]) == 0
    assert "<b>" not in capsys.readouterr().out
    assert main(["report", str(folder), "--format", "html"]) == 0
    assert "<b>" not in (folder / "report.html").read_text("utf-8")


def test_a_run_without_a_judge_has_one_line_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path / "run", {"baseline": {"a": [("1?11", 3)]}}, judge="")
    line = "rubrics: none of 1 trials has all verdicts on completion; --judge=NAME asks a judge"
    assert main(["report", str(folder)]) == 0
    out = " ".join(capsys.readouterr().out.split())  # however wide the terminal is
    assert line in out
    assert "gated" not in out
    assert main(["report", str(folder), "--format", "md"]) == 0
    assert "none of 1 trials has all verdicts" in capsys.readouterr().out


def test_why_a_judge_that_was_asked_gave_no_verdict_is_told(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    why = "judge model-j gave no verdict on c2: it is prose"
    folder = write(tmp_path / "none", {"baseline": {"a": [("1?11", 3)]}})
    for form in ("text", "md"):
        assert main(["report", str(folder), "--format", form]) == 0
        said = " ".join(capsys.readouterr().out.replace("\\", "").split())
        assert f"none of 1 trials has all verdicts on completion: {why}" in said
        assert "--judge=NAME" not in said
        assert main(["report", str(run), "--format", form]) == 0
        said = " ".join(capsys.readouterr().out.replace("\\", "").split())
        assert f"not all verdicts in 1 trial: {why}" in said


def test_the_page_shows_each_verdict(run: Path) -> None:
    with open_run(run) as opened:
        data = PageData(opened).to_json(5_000)
    assert data["evidence"][0]["criteria"] == [
        ["c1", "completion", "durable_artifact", 1.0, 1.0, "", "", ["gatekeeper", "judge"]],
        ["c2", "completion", "output_discipline", 0.0, 0.0, "", "", ["judge"]],
        ["p1", "process", "phase_adherence", 1.0, 1.0, "", "", ["judge"]],
        ["p2", "process", "phase_adherence", 1.0, 1.0, "", "", ["judge"]],
    ]


def test_csv_has_the_scores_of_each_trial(run: Path) -> None:
    out = run / "trials.csv"
    assert main(["report", str(run), "--format", "csv", "-o", str(out)]) == 0
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["completion_loose"] for row in rows[:3]] == ["0.5", "0.0", "1.0"]
    assert (rows[-1]["completion_strict"], rows[-1]["process_strict"]) == ("", "1.0")
