"""What calls cost, and what happens when there is no money left."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_agentbench.execution import Usage
from pytest_agentbench.pricing import PricingError, budgets_of, price_of
from pytest_agentbench.spending import Budget, Price
from tests.project import Project

PRICE = Price(as_of="2026-01-31", input=2.0, output=10.0, cache_read=0.5)


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(input_tokens=1_000_000, output_tokens=0), 2.0),
        (Usage(input_tokens=0, output_tokens=500_000, reasoning_tokens=400_000), 5.0),
        (Usage(input_tokens=0, output_tokens=0, cache_read_tokens=2_000_000), 1.0),
        (Usage(input_tokens=0, output_tokens=0, cache_write_tokens=1), None),
        (Usage(input_tokens=5), None),
        (Usage(), None),
    ],
)
def test_a_cost_that_is_not_known_is_not_zero(usage: Usage, cost: float | None) -> None:
    assert PRICE.cost(usage) == cost


def test_a_users_price_comes_before_the_packages() -> None:
    shipped = price_of(("gpt-4o",), {})
    assert shipped is not None
    assert shipped.as_of
    own = {"as_of": "2026-02-01", "input": 1, "output": 1}
    assert price_of(("gpt-4o",), {"gpt-4o": own}) == Price(**own)
    assert price_of(("nobody-knows",), {}) is None


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            [],
            (
                '[tool.agentbench.prices."m"] must be a table with as_of, input, output, cache_read, '
                "cache_write"
            ),
        ),
        (
            {"input": 1, "output": 1},
            (
                '[tool.agentbench.prices."m"] needs as_of; write for example:\n'
                '    [tool.agentbench.prices."m"]\n'
                '    as_of = "2026-01-31"\n'
                "    input = 2.5    # US dollars for a million tokens\n"
                "    output = 10.0"
            ),
        ),
        (
            {"as_of": "June", "input": 1, "output": 1},
            "[tool.agentbench.prices.\"m\"]: as_of must be a day such as 2026-01-31, not 'June'",
        ),
        (
            {"as_of": "2026-01-31", "input": -1, "output": 1},
            '[tool.agentbench.prices."m"]: input must be US dollars for a million tokens, not -1',
        ),
        (
            {"as_of": "2026-01-31", "in": 1},
            (
                "[tool.agentbench.prices.\"m\"]: 'in' is not known; allowed: as_of, input, output, "
                "cache_read, cache_write"
            ),
        ),
    ],
)
def test_a_price_that_makes_no_sense(entry: Any, message: str) -> None:
    with pytest.raises(PricingError) as caught:
        price_of(("m",), {"m": entry})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"day": {}}, "[tool.agentbench.budget]: 'day' is not known; allowed: trial, run"),
        (
            {"run": {"euros": 1}},
            "[tool.agentbench.budget.run]: 'euros' is not known; allowed: tokens, requests, usd",
        ),
        (
            {"trial": {"tokens": 1.5}},
            "[tool.agentbench.budget.trial]: tokens must be a whole number above 0, not 1.5",
        ),
        (
            {"trial": {"usd": 0}},
            "[tool.agentbench.budget.trial]: usd must be a number above 0, not 0",
        ),
    ],
)
def test_a_budget_that_makes_no_sense(table: dict[str, Any], message: str) -> None:
    with pytest.raises(PricingError) as caught:
        budgets_of(table)
    assert str(caught.value) == message


def test_a_budget_is_used_up_when_it_is_reached() -> None:
    budget = Budget(tokens=1000, usd=0.5)
    assert budget.used_up(999, 10**6, 0.49) == ""
    assert budget.used_up(1000, 0, 0.0) == "1,000 of 1,000 tokens"
    assert budget.used_up(0, 0, 0.75) == "$0.7500 of $0.5000"
    assert str(budget) == "1,000 tokens, $0.50"
    assert not Budget()


PRICES = "[tool.agentbench.prices.scripted]\nas_of = '2026-01-31'\ninput = 1000\noutput = 1000\n"


def table(project: Project, text: str) -> None:
    with (project.path / "pyproject.toml").open("a") as file:
        file.write("\n" + text)


def test_a_trial_that_has_used_up_its_budget_is_graded(project: Project) -> None:
    table(project, "[tool.agentbench.budget.trial]\nrequests = 1\n")
    project.bench("--model=scripted", runtime="minimal").assert_outcomes(failed=1)
    (record,) = project.records()
    assert (record["status"], record["message"]) == (
        "budget_exhausted",
        "the trial's budget is used up: 1 of 1 requests",
    )
    assert record["grade"]["score"] is not None
    assert record["lock"]["budget"] == "1 requests"
    assert record["usage"]["cost_usd"] is None


def test_the_budget_of_a_run_stops_all_that_is_left(project: Project, workers: list[str]) -> None:
    for name in ("second", "third", "fourth"):
        project.scenario(name)
    table(project, PRICES + "[tool.agentbench.budget.run]\nusd = 0.0001\n")
    result = project.bench("--model=scripted", *workers, runtime="minimal")
    assert result.ret != 0
    statuses = [record["status"] for record in project.records()]
    assert "interrupted" in statuses
    assert set(statuses) == {"interrupted", "not_started"}
    messages = {record["message"] for record in project.records()}
    assert any(m.startswith("the run's budget is used up: $") for m in messages)
    assert any(m.endswith("give it more and run again with the same --run-dir") for m in messages)
    # More of it, and what was not graded is.
    plain = (project.path / "pyproject.toml").read_text().replace("usd = 0.0001", "usd = 1000")
    (project.path / "pyproject.toml").write_text(plain)
    project.bench("--model=scripted", *workers, runtime="minimal").assert_outcomes(passed=4)
    costs = [r["usage"]["cost_usd"] for r in project.records() if r["status"] == "completed"]
    assert len(costs) == 4
    assert all(cost > 0 for cost in costs)


def test_dollars_need_a_price(project: Project) -> None:
    table(project, "[tool.agentbench.budget.run]\nusd = 5\n")
    result = project.bench("--model=scripted", runtime="minimal")
    assert result.errlines[:5] == [
        (
            "ERROR: pyproject.toml: [tool.agentbench.budget]: usd needs to know what scripted costs; "
            "write for example:"
        ),
        '    [tool.agentbench.prices."scripted"]',
        '    as_of = "2026-01-31"',
        "    input = 2.5    # US dollars for a million tokens",
        "    output = 10.0",
    ]
