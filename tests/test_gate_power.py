"""The gate's alarms over pairs of runs that are made up: `benchmarks/gate_power.py`, in small."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent.parent / "benchmarks/gate_power.py"


@pytest.fixture(scope="module")
def power() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize(
    ("condition", "alarms"),
    [
        ("no change", 14),
        ("no change, 5 % of trials lost before and 25 % now", 12),
        ("no change, one flaky scenario", 4),
        ("a drop of 5 points, which is allowed", 5),
        ("a drop of 10 points", 65),
        ("a drop of 20 points", 171),
    ],
)
def test_alarms_of_200_pairs(power: dict[str, Any], condition: str, alarms: int) -> None:
    # A changed number is a changed gate: then docs/ci.md needs the script's new output.
    design = next(d for d in power["DESIGNS"] if d.name == "24x3")
    found = next(c for c in power["CONDITIONS"] if c.name == condition)
    assert power["rates"](design, found, 200, None)[0] == alarms
    assert not found.misses(power["wilson"](alarms, 200), 0.05)


def test_the_table_of_the_docs_is_the_scripts(power: dict[str, Any]) -> None:
    text = (SCRIPT.parent.parent / "docs/ci.md").read_text("utf-8")
    for design in power["DESIGNS"]:
        for condition in power["CONDITIONS"]:
            assert f"| {design.name} | {condition.name} | " in text
