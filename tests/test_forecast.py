"""--dry-run says what a run will take, by what the same trials took before."""

from __future__ import annotations

import shutil

from pytest_agentbench.report.figures import compact
from tests.judged_project import judged
from tests.project import Project
from tests.test_spending import PRICES, table


def test_the_forecast_is_that_of_earlier_runs(project: Project) -> None:
    table(project, PRICES)
    project.scenario("other")
    arguments = ("--model=scripted", "--trials=2")
    project.bench(*arguments, "-k", "shout", runtime="minimal").assert_outcomes(passed=2)
    shutil.move(project.path / "run", project.path / "reports" / "first")
    records = project.records("reports/first")
    tokens = sum(r["usage"]["input_tokens"] + r["usage"]["output_tokens"] for r in records)
    cost = sum(r["usage"]["cost_usd"] for r in records)
    result = project.bench(*arguments, "--dry-run", runtime="minimal")
    (line,) = [line for line in result.outlines if line.startswith("forecast")]
    assert line.startswith(
        f"forecast for 2 trials, from 2 earlier records: {tokens} tokens, ${cost:.2f}, "
    )
    assert line.endswith(" of agents' time, to be shared among workers; 2 trials have none")
    # Of a model without a price the cost is unknown.
    plain = (project.path / "reports/first/ledger.jsonl").read_text()
    unknown = plain.replace('"cost_usd":', '"cost_usd":null,"was":')
    (project.path / "reports/first/ledger.jsonl").write_text(unknown)
    result = project.bench(*arguments, "--dry-run", "-k", "shout", runtime="minimal")
    (line,) = [line for line in result.outlines if line.startswith("forecast")]
    assert line.startswith("forecast for all of them, from 2 earlier records: ")
    assert f"{tokens} tokens, cost unknown, " in line


def test_without_an_earlier_run_there_is_no_forecast(project: Project) -> None:
    (project.path / "reports" / "broken").mkdir(parents=True)
    (project.path / "reports" / "broken" / "ledger.jsonl").mkdir()
    result = project.bench("--dry-run")
    assert result.ret == 0
    assert not [line for line in result.outlines if line.startswith("forecast")]


def test_the_forecast_is_of_all_phases_and_of_judging(project: Project) -> None:
    judged(project)
    more = "[tool.agentbench.models.scripted]\nbackend = 'scripted'\n"
    table(project, PRICES + more)
    arguments = ("--model=scripted", "--mode=postskill", "--judge=fair")
    project.bench(*arguments, runtime="minimal").assert_outcomes(passed=1)
    shutil.move(project.path / "run", project.path / "reports" / "first")
    (record,) = project.records("reports/first")
    usages = [phase["usage"] for phase in record["phases"]]
    usages.append(record["observed"]["judging"]["usage"])
    tokens = sum(usage["input_tokens"] + usage["output_tokens"] for usage in usages)
    cost = sum(usage["cost_usd"] for usage in usages)
    result = project.bench(*arguments, "--dry-run", runtime="minimal")
    (line,) = [line for line in result.outlines if line.startswith("forecast")]
    told = (
        f"forecast for all of them, from 1 earlier record: {compact(tokens)} tokens, ${cost:.2f}, "
    )
    assert line.startswith(told)
    assert record["usage"]["cost_usd"] < cost / 2
