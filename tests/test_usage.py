"""What a runtime says that it took, and what of it is believed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_agentbench.execution import Usage, total
from pytest_agentbench.plain import plain
from tests.project import Project

BOASTER = """
import dataclasses

from pytest_agentbench.execution import Usage
from pytest_agentbench.runtimes.oracle import Oracle


class Boaster(Oracle):
    def collect(self, run, done):
        usage = Usage(input_tokens=10**4000, output_tokens=-5, requests=3.5, cost_usd=float("inf"))
        return dataclasses.replace(super().collect(run, done), usage=usage)


def pytest_agentbench_runtimes(config):
    return {"boaster": Boaster}
"""


def test_what_is_believable_stays() -> None:
    usage = Usage(input_tokens=0, output_tokens=7, requests=1, cost_usd=0.25)
    assert usage.believable == usage
    assert Usage().believable == Usage()


def test_tokens_are_whole_and_dollars_need_not_be() -> None:
    parts: dict[str, Any] = {"input_tokens": 12.5, "requests": 2.0, "cost_usd": 1}
    assert plain(Usage(**parts).believable) == plain(Usage(input_tokens=12, requests=2, cost_usd=1))


@pytest.mark.parametrize("value", [-1, 10**12 + 1, 10**400])
def test_counts_that_no_run_has_are_unknown(value: int) -> None:
    assert Usage(input_tokens=value, output_tokens=2).believable == Usage(output_tokens=2)


@pytest.mark.parametrize("value", [-0.1, 1e13, float("inf"), float("nan")])
def test_costs_that_no_run_has_are_unknown(value: float) -> None:
    assert Usage(cost_usd=value, requests=1).believable == Usage(requests=1)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (Usage(), None),
        (Usage(cache_read_tokens=0, cache_write_tokens=0), None),
        (Usage(cache_read_tokens=9), None),
        (Usage(output_tokens=3), None),
        (Usage(input_tokens=2, cache_read_tokens=4), None),
        (Usage(input_tokens=2, output_tokens=3), 5),
        (Usage(input_tokens=0, output_tokens=0, cache_read_tokens=4, cache_write_tokens=1), 5),
        # They are a part of the output.
        (Usage(input_tokens=2, output_tokens=3, reasoning_tokens=3), 5),
    ],
)
def test_a_total_is_known_with_input_and_output(usage: Usage, tokens: int | None) -> None:
    assert usage.total_tokens == tokens


def test_a_sum_knows_what_all_its_parts_know() -> None:
    told = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=0, requests=1, cost_usd=0.5)
    brief = Usage(input_tokens=10, output_tokens=20, requests=1)
    assert total([told, brief]) == Usage(
        input_tokens=11, output_tokens=22, cache_read_tokens=0, requests=2
    )
    assert total([told, Usage()]) == Usage()
    assert total([]).total_tokens == total([]).cost_usd == 0


def test_a_runtime_that_boasts_ends_no_report(project: Project) -> None:
    project.write("conftest.py", BOASTER)
    project.scenario()
    done = project.bench("--mode=baseline", "--mode=preskill", "--gate=none", runtime="boaster")
    assert done.ret == 0
    usage = project.records()[0]["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["cost_usd"]) == (None, None, None)
    assert usage["requests"] == 3
    data = json.loads((project.path / "run" / "report.json").read_text())
    assert data["rows"][0]["tokens"]["mean"] is None
    assert data["skills"][0]["resources"]["tokens"]["execution"] is None
