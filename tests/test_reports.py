"""``agentbench report`` in each of its formats: what other programs and people read."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_agentbench.execution import Attempt, Usage
from pytest_agentbench.grade import CheckResult, Grade
from pytest_agentbench.record import PlannedTrial, Record, ScenarioFacts, closed_line
from pytest_agentbench.report.families import Family, family
from pytest_agentbench.report.json_report import build
from pytest_agentbench.report.ledger import Ledger
from pytest_agentbench.report.pareto import front
from pytest_agentbench.report.plan import Plan, save_plan, write_json
from pytest_agentbench.report.reader import open_run
from pytest_agentbench.report.report_schema import schema
from pytest_agentbench.report.run import read_run
from pytest_agentbench.status import Status
from tests.made_runs import write_run
from tests.project import Project

#: This interpreter, and others that have the project: ``AGENTBENCH_PYTHONS`` names them with ":".
PYTHONS = (sys.executable, *filter(None, os.environ.get("AGENTBENCH_PYTHONS", "").split(":")))
FORMATS = ("text", "json", "html", "md", "csv", "parquet", "ctrf", "junit")
HOSTILE = "<b>&</b> | `x` [a](javascript:x) @you ]]> \x1b[31m\x00\ud800\u202e\nnext =1+1"


def planned(scenario: str, index: int = 1, **values: Any) -> PlannedTrial:
    return PlannedTrial(
        key=f"{scenario}-{index}".encode().hex(),
        node_id=f"scenarios/safety/{scenario}.yaml::{scenario}[r-baseline-t{index}]",
        scenario=ScenarioFacts(id=scenario, dimension="safety", tags=("mail",)),
        runtime=values.pop("runtime", "r"),
        adapter="r",
        model="",
        mode="baseline",
        index=index,
        **values,
    )


def graded(score: float, text: str = "") -> Grade:
    passed = score >= 0.6
    check = CheckResult(
        id="kept",
        type="json_path",
        points=1.0,
        earned=score,
        passed=passed,
        detail=text,
        expected=text,
        found=text,
    )
    return Grade(
        policy="composite",
        threshold=0.6,
        checks=(check,),
        score=score,
        capability=score,
        passed=passed,
        strict=passed,
    )


def made(folder: Path, text: str = "") -> Path:
    """A run with a trial of each kind; what an agent may write holds ``text``."""
    trials = [planned("a", index) for index in range(1, 5)] + [planned("b"), planned("c")]
    save_plan(folder / "plan.json", Plan(trials=tuple(trials)))
    passed, failed, fault, broken, skipped, _ = trials
    tries = (Attempt(status=Status.PROVIDER_ERROR, message=f"503 {text}", seconds=1.5),)
    records = [
        passed.end(
            Status.COMPLETED,
            grade=graded(1.0, text),
            seconds=2.0,
            started=100.0,
            ended=102.5,
            attempts=tries,
        ),
        failed.end(
            Status.AGENT_TIMEOUT, message=f"too late {text}", grade=graded(0.5, text), started=90.0
        ),
        fault.end(Status.PROVIDER_ERROR, message=f"503 {text}"),
        broken.end(Status.CHECKER_ERROR, message=f"raised {text}"),
        skipped.end(Status.UNSUPPORTED, message=f"no browser {text}"),
    ]
    ledger = Ledger(folder / "ledger.jsonl")
    for record in records:
        ledger.append(record.to_json(), wait=False)
        ledger.append(closed_line(record.key, (text,) if text else ()), wait=False)
    return folder


def scattered(folder: Path) -> Path:
    """A run of scores, costs and times that no binary fraction has."""
    rng = random.Random(1)
    trials = [planned(f"s{number}", index) for number in range(12) for index in (1, 2, 3)]
    save_plan(folder / "plan.json", Plan(trials=tuple(trials)))
    ledger = Ledger(folder / "ledger.jsonl")
    for trial in trials:
        record = trial.end(
            Status.COMPLETED,
            grade=graded(round(rng.random(), 4)),
            seconds=rng.random(),
            usage=Usage(input_tokens=rng.randint(1, 999), output_tokens=0, cost_usd=rng.random()),
        )
        ledger.append(record.to_json(), wait=False)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return made(tmp_path / "run")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    return made(tmp_path / "hostile", HOSTILE)


def report(folder: Path, kind: str, *, python: str = sys.executable, **env: str) -> bytes:
    """What the command writes, in a process of its own."""
    target = folder.parent / f"{folder.name}.{kind}"
    argv = ["report", str(folder), "--format", kind, "-o", str(target)]
    done = subprocess.run(
        [python, "-m", "pytest_agentbench.cli", *argv],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder.parent,
        env=os.environ | env,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return target.read_bytes()


# --- The same bytes everywhere --------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMATS)
def test_a_report_is_the_same_elsewhere(hostile: Path, tmp_path: Path, kind: str) -> None:
    here = report(hostile, kind, TZ="UTC", LANG="C.UTF-8", PYTHONHASHSEED="1")
    copied = tmp_path / "far away" / "copy"
    shutil.copytree(hostile, copied)
    env = {"TZ": "Asia/Kathmandu", "LANG": "C", "LC_ALL": "C", "COLUMNS": "63"}
    for python in PYTHONS:
        there = report(copied, kind, python=python, PYTHONHASHSEED="7", PYTHONUTF8="0", **env)
        assert here == there, f"{python} writes other bytes"
    assert str(tmp_path).encode() not in here


@pytest.mark.parametrize("kind", ["text", "json", "md", "csv"])
def test_sums_of_unlike_numbers_are_the_same_elsewhere(tmp_path: Path, kind: str) -> None:
    run = scattered(tmp_path / "run")
    here = report(run, kind)
    for python in PYTHONS:
        assert report(run, kind, python=python, TZ="Asia/Kathmandu", LC_ALL="C") == here, python


def test_a_report_goes_to_standard_output_unless_it_is_of_no_use_there(run: Path) -> None:
    def printed(kind: str) -> bytes:
        argv = [sys.executable, "-m", "pytest_agentbench.cli", "report", str(run), "--format", kind]
        return subprocess.run(argv, capture_output=True, check=True).stdout

    assert printed("csv") == report(run, "csv")
    assert printed("html").decode() == f"{run / 'report.html'}\n"
    assert printed("parquet").decode() == f"{run / 'trials.parquet'}\n"
    assert (run / "report.html").read_bytes() == report(run, "html")


def test_a_report_that_cannot_be_written_says_where(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    argv = ["report", str(run), "--format", "csv", "-o", str(tmp_path / "file" / "x.csv")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest_agentbench.cli", *argv],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert re.fullmatch(
        r"agentbench report: .*file.*: (File exists|Not a directory)\n", done.stderr
    )


# --- JSON -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", HOSTILE])
def test_json_is_what_the_run_itself_writes_and_holds_to_its_schema(
    tmp_path: Path, text: str
) -> None:
    folder = made(tmp_path / "run", text)
    whole = read_run(folder)
    write_json(tmp_path / "whole.json", build(whole.scoreboard, whole.plan, whole.view.records))
    data = report(folder, "json")
    assert data == (tmp_path / "whole.json").read_bytes()
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(json.loads(data), schema())


def test_the_schema_refuses_what_no_version_has(run: Path) -> None:
    data = json.loads(report(run, "json"))
    for wrong in (data | {"extra": 1}, {k: v for k, v in data.items() if k != "rows"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema())
    data["rows"][0]["score"] = 1.5
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema())


# --- Trial by trial -------------------------------------------------------------------------


def lines_of(folder: Path) -> list[bytes]:
    return (folder / "ledger.jsonl").read_bytes().splitlines(keepends=True)


def test_a_reader_finds_the_records_that_the_ledger_holds(run: Path) -> None:
    ledger = Ledger(run / "ledger.jsonl")
    again, stray = planned("a", 3), planned("gone")
    ledger.append(again.end(Status.COMPLETED, grade=graded(0.75)).to_json())
    ledger.append(closed_line(again.key, ("a daemon",)))
    ledger.append(planned("a", 1).end(Status.WORKER_LOST).to_json())
    ledger.append(stray.end(Status.COMPLETED, grade=graded(1.0)).to_json())
    ledger.append(closed_line("nobody", ()))
    first = lines_of(run)[0]
    torn = first.replace(planned("a").key.encode(), b"torn")[: len(first) // 2]
    with (run / "ledger.jsonl").open("ab") as file:
        # Half a line that ends as a whole one does, a blank one, other layouts of the same.
        file.write(torn + b"}\n\n[1]\nnull\n")
        file.write(
            json.dumps(planned("c").end(Status.REFUSAL, grade=graded(0.5)).to_json()).encode()
        )
    whole = read_run(run)
    with open_run(run) as reader:
        pairs = list(reader.pairs())
        assert [trial for trial, _ in pairs] == list(whole.plan.trials)
        assert {t.key: r for t, r in pairs if r} == {
            trial.key: whole.view.records[trial.key] for trial in whole.plan.trials
        }
        assert reader.scoreboard() == whole.scoreboard
        assert reader.scoreboard().strays == 1
    assert whole.view.records[again.key].survivors == ("a daemon",)


def test_a_plan_in_another_layout_is_read_too(run: Path) -> None:
    before = report(run, "csv")
    plan = run / "plan.json"
    plan.write_text(json.dumps(json.loads(plan.read_text()), indent=4))
    assert report(run, "csv") == before


def test_a_run_that_has_not_begun_is_reported(tmp_path: Path) -> None:
    save_plan(tmp_path / "run" / "plan.json", Plan())
    for kind in FORMATS:
        assert report(tmp_path / "run", kind)
    data = json.loads(report(tmp_path / "run", "json"))
    assert (data["rows"], data["trials"]) == ([], [])


# --- CSV and Parquet ------------------------------------------------------------------------


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def test_csv_has_a_line_a_trial(run: Path) -> None:
    data = report(run, "csv")
    rows = table(data)
    assert len(data.splitlines()) == 1 + len(rows) == 7
    assert [row["status"] for row in rows] == [
        *("completed", "agent_timeout", "provider_error", "checker_error", "unsupported"),
        "not_started",
    ]
    assert [row["score"] for row in rows] == ["1.0", "0.5", "", "", "", ""]
    assert [row["passed"] for row in rows] == ["true", "false", "", "", "", ""]
    assert [row["counts"] for row in rows][2:] == [
        *("infrastructure", "grader fault", "skip", "not run")
    ]
    assert (rows[0]["seconds"], rows[0]["attempts"], rows[0]["tokens"]) == ("2.0", "1", "")
    assert rows[1]["failed_checks"] == "kept"


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1+1", '=HYPERLINK("x")']
)
def test_no_cell_is_a_formula(tmp_path: Path, text: str) -> None:
    save_plan(tmp_path / "run" / "plan.json", Plan(trials=(planned("a"),)))
    Ledger(tmp_path / "run" / "ledger.jsonl").append(
        planned("a").end(Status.HARNESS_ERROR, message=text).to_json()
    )
    (row,) = table(report(tmp_path / "run", "csv"))
    assert row["message"].startswith("'")
    assert not any(re.match(r"\s*[=+@\-＝＋－＠]", cell) for cell in row.values())


def test_csv_escapes_what_is_not_printable(hostile: Path) -> None:
    data = report(hostile, "csv")
    assert len(data.splitlines()) == 7
    assert not re.search(r"[\x00-\x09\x0b\x0c\x0e-\x1f\u202e]", data.decode())
    assert r"\x1b[31m\x00\ud800\u202e\nnext" in table(data)[1]["message"]


def test_parquet_has_the_columns_of_the_csv_with_types(hostile: Path) -> None:
    from pyarrow import parquet

    found = parquet.read_table(io.BytesIO(report(hostile, "parquet")))
    assert found.column_names == list(table(report(hostile, "csv"))[0])
    assert found.column("score").to_pylist() == [1.0, 0.5, None, None, None, None]
    assert found.column("passed").to_pylist() == [True, False, None, None, None, None]
    assert found.column("index").to_pylist() == [1, 2, 3, 4, 1, 1]
    assert "\\ud800" in found.column("message").to_pylist()[1]
    assert str(found.schema.field("tokens").type) == "int64"


# --- CTRF and JUnit -------------------------------------------------------------------------


def test_ctrf_holds_to_its_published_schema(hostile: Path) -> None:
    published = json.loads((Path(__file__).parent / "data/ctrf/ctrf.schema.json").read_bytes())
    data = json.loads(report(hostile, "ctrf"))
    jsonschema.Draft7Validator(published).validate(data)
    tests, summary = data["results"]["tests"], data["results"]["summary"]
    assert [(test["status"], test["rawStatus"]) for test in tests] == [
        ("passed", "completed"),
        ("failed", "agent_timeout"),
        ("other", "provider_error"),
        ("other", "checker_error"),
        ("skipped", "unsupported"),
        ("pending", "not_started"),
    ]
    assert summary == {
        "tests": 6,
        "passed": 1,
        "failed": 1,
        "other": 2,
        "skipped": 1,
        "pending": 1,
        "start": 90_000,
        "stop": 102_500,
    }
    assert (tests[0]["duration"], tests[0]["retries"]) == (2000, 1)
    assert tests[0]["retryAttempts"][0]["status"] == "other"
    assert tests[0]["suite"] == ["safety", "a"]
    assert "below the threshold" in tests[1]["message"]


def test_junit_tells_faults_from_failures(hostile: Path) -> None:
    root = ET.fromstring(report(hostile, "junit"))
    (suite,) = root
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6",
        "failures": "1",
        "errors": "3",
        "skipped": "1",
    }
    assert suite.get("timestamp") == "1970-01-01T00:01:30Z"
    inner = [[child.tag for child in case if child.tag != "properties"] for case in suite]
    assert inner == [[], ["failure"], ["error"], ["error"], ["skipped"], ["error"]]
    assert suite[1].get("classname") == "scenarios.safety.a"
    assert suite[1].get("name") == "a[r-baseline-t2]"
    failure = suite[1].find("failure")
    assert failure is not None
    assert failure.get("message") == "score 0.500 is below the threshold 0.6"
    assert "the agent ended with agent_timeout" in (failure.text or "")
    error = suite[2].find("error")
    assert error is not None
    assert error.get("type") == "provider_error"
    assert (error.text or "").startswith("503 <b>&</b>")
    assert r"\x1b[31m\x00\ud800" in (error.text or "")
    assert suite[0].find("properties/property[@name='agentbench.score']") is not None


# --- Markdown -------------------------------------------------------------------------------


def test_markdown_takes_nothing_for_markup(hostile: Path) -> None:
    text = report(hostile, "md").decode()
    body = (
        text.replace("<details><summary>", "").replace("</summary>", "").replace("</details>", "")
    )
    assert "<" not in body
    assert not re.search(r"[`@\[\]\\](?!\d)", re.sub(r"\[\d\.\d+, \d\.\d+\]", "", body))
    assert "&#60;b&#62;" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e\ud800]", text)
    for line in text.splitlines():
        assert not line.startswith("| row") or line.count("|") == 11 or "safety" in line


def test_markdown_begins_with_the_scores_and_what_differs_most(tmp_path: Path) -> None:
    trials = [planned(s, runtime=r) for r in ("old", "new") for s in ("same", "fell")]
    trials = [
        PlannedTrial(**{n: getattr(t, n) for n in t.__dataclass_fields__} | {"key": f"{i}"})
        for i, t in enumerate(trials)
    ]
    save_plan(tmp_path / "run" / "plan.json", Plan(trials=tuple(trials)))
    for trial, score in zip(trials, (0.75, 1.0, 0.75, 0.25), strict=True):
        record = trial.end(Status.COMPLETED, grade=graded(score))
        Ledger(tmp_path / "run" / "ledger.jsonl").append(record.to_json(), wait=False)
    text = report(tmp_path / "run", "md").decode()
    heads = re.findall(r"(?m)^#+ (.*)$", text)
    assert heads[:2] == ["Agent benchmark", "Scenarios that differ most between rows"]
    assert "| fell | 0.750 | 0.250 (row 2) | 1.000 (row 1) |" in text
    assert "| same |" not in text


def test_markdown_tells_rows_of_two_scoring_policies_apart(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"s": "11"})
    assert "scoring" not in report(tmp_path / "run", "md").decode().splitlines()[2]
    write_run(tmp_path / "run", {"m": "10"}, facts={"m": {"policy": "mean"}})
    lines = report(tmp_path / "run", "md").decode().splitlines()
    assert lines[2].endswith(" | scoring |")
    assert [line.rsplit(" | ", 1)[1] for line in lines[4:6]] == ["composite |", "mean |"]


def test_markdown_fits_whatever_the_size_of_a_run(tmp_path: Path) -> None:
    trials = [planned(f"{'x' * 150}{n}", runtime=f"{'r' * 150}{n % 150}") for n in range(3000)]
    save_plan(tmp_path / "run" / "plan.json", Plan(trials=tuple(trials)))
    with (tmp_path / "run" / "ledger.jsonl").open("w") as file:
        for trial in trials:
            record: Record = trial.end(Status.COMPLETED, grade=graded(0.5, "<" * 300))
            file.write(json.dumps(record.to_json()) + "\n")
    data = report(tmp_path / "run", "md")
    assert 100_000 < len(data) <= 1 << 20
    assert "\nand 50 rows more\n" in data.decode()


# --- Families and fronts --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ({"id": "plan", "type": "python", "detail": "missing plan.json"}, Family.STRUCTURE),
        ({"id": "risk_level", "type": "json_path", "expected": "high"}, Family.STRUCTURE),
        ({"id": "sources_cited", "type": "python"}, Family.EVIDENCE),
        ({"id": "waits_for_approval", "type": "python"}, Family.AUTHORITY),
        ({"id": "probed", "type": "tool_called", "category": "process"}, Family.ROUTING),
        ({"id": "no_duplicates", "type": "table"}, Family.RECOVERY),
        ({"id": "again", "type": "tool_recovered_after_error"}, Family.RECOVERY),
        ({"id": "approval_leak", "type": "python", "category": "safety"}, Family.SAFETY),
        ({"id": "x", "type": "python", "detail": "the two notes contradict"}, Family.CONFLICT),
        ({"id": "x", "type": "python", "detail": "it is wrong"}, Family.OTHER),
    ],
)
def test_a_failed_check_is_of_the_first_family_that_fits(
    check: dict[str, Any], expected: Family
) -> None:
    assert family(CheckResult(points=1.0, earned=0.0, passed=False, **check)) is expected


def test_the_front_is_what_nothing_beats() -> None:
    points = [(1.0, 0.5), (2.0, 0.5), (2.0, 0.75), (3.0, 0.75), (0.5, 0.25), (1.0, 0.5)]
    assert front(points) == (True, False, True, False, True, True)


# --- The page -------------------------------------------------------------------------------


def embedded(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_page_is_one_file_whose_policy_allows_its_own_scripts_alone(hostile: Path) -> None:
    page = report(hostile, "html").decode()
    assert not re.findall(r"""(?:src|href)=["']?(?!#)[^"'\s>#]""", page.split("<script")[0])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert page.count("<script") == 3
    data = embedded(page)
    assert [trial[4] for trial in data["trials"]] == [
        *("completed", "agent_timeout", "provider_error", "checker_error", "unsupported"),
        "not_started",
    ]
    assert data["rows"][0]["score"] == 0.75
    assert HOSTILE[:20] in data["trials"][1][data["columns"].index("message")]


def test_no_row_is_beaten_by_one_of_another_scoring_policy(tmp_path: Path) -> None:
    for name, trials, policy in (("s", "11", "composite"), ("m", "10", "mean")):
        write_run(tmp_path / "run", {name: trials}, facts={name: {"policy": policy}})
    write_run(tmp_path / "run", {"m": "00"}, runtime="worse", facts={"m": {"policy": "mean"}})
    points = embedded(report(tmp_path / "run", "html").decode())["efforts"]["cost_usd"]
    assert [(row, score, on) for row, _, score, on in points] == [
        *((0, 1.0, True), (1, 0.5, True), (2, 0.0, False)),
    ]


def test_the_page_has_the_evidence_that_was_kept(run: Path) -> None:
    folder = run / "trials" / planned("a", 2).key
    folder.mkdir(parents=True)
    (folder / "workspace.diff").write_text("+one\n-two\n")
    (folder / "stderr").write_text("x" * 100_000 + "the end")
    (folder / "trace.jsonl").write_text(
        '{"kind": "tool_call", "tool": "read", "args": {"path": "a.txt"}, "time": 1.5}\nnonsense\n'
    )
    (folder / "prompt.txt").symlink_to("/etc/passwd")
    evidence = embedded(report(run, "html").decode())["evidence"]
    found = evidence[1]
    assert found["diff"] == "+one\n-two\n"
    assert found["events"] == [[1.5, "call", "read", None, "path=a.txt"]]
    assert found["stderr"].endswith("the end")
    assert len(found["stderr"]) <= 20_000
    assert "prompt" not in found
    assert found["checks"][0][:2] == ["kept", "json_path"]
    assert list(evidence[0]) == ["checks"]


def test_a_run_ends_with_how_to_make_a_page_of_it(project: Project) -> None:
    result = project.bench()
    result.stdout.fnmatch_lines(["as a page: agentbench report run --format html"])
    run = project.path / "run"
    assert report(run, "json") == (run / "report.json").read_bytes()
    data = embedded(report(run, "html").decode())
    heads = [(event[1], event[2]) for event in data["evidence"][0]["events"]]
    assert heads[:2] == [("asked", ""), ("call", "read")]
    jsonschema.validate(json.loads((run / "report.json").read_bytes()), schema())
