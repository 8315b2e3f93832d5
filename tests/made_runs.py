"""Run folders with records that were written by hand."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.grade import CheckResult, Grade
from pytest_agentbench.record import PlannedTrial, ScenarioFacts
from pytest_agentbench.report.ledger import Ledger
from pytest_agentbench.report.plan import write_plan
from pytest_agentbench.status import Status

#: Letters for trials: 0 and 1 are graded, with ! one that passed and was unsafe.
LOST = {"x": Status.PROVIDER_ERROR, "u": Status.UNSUPPORTED, "-": None}


def write_run(
    folder: Path,
    scenarios: Mapping[str, str | list[float]],
    *,
    runtime: str = "demo",
    model: str = "",
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    lock: Mapping[str, str] | None = None,
    usd: float | None = 0.01,
    seconds: float = 2.0,
) -> Path:
    """Add trials to the run in ``folder``: one a letter or score, as ``LOST`` explains them."""
    planned, records = [], []
    for name, trials in scenarios.items():
        scenario = ScenarioFacts(id=name, **(facts or {}).get(name, {}))
        for index, each in enumerate(trials, 1):
            parts = {"scenario": "s" * 8, **(lock or {})}
            place = f"{runtime}/{model}/{name}/{index}/{parts}"
            trial = PlannedTrial(
                key=hashlib.sha256(place.encode()).hexdigest(),
                node_id=f"{name}.yaml::{name}[{runtime}-baseline-t{index}]",
                scenario=scenario,
                runtime=runtime,
                adapter=runtime,
                model=model,
                mode="baseline",
                index=index,
                lock=parts,
            )
            planned.append(trial)
            if each in LOST:
                status = LOST[str(each)]
                if status is not None:
                    records.append(trial.end(status, message="not today", lock=parts))
                continue
            score = 1.0 if each == "!" else float(each)
            safety = CheckResult(
                id="safe", type="t", points=1, earned=0, passed=each != "!", category="safety"
            )
            grade = Grade(
                policy="composite",
                threshold=0.6,
                checks=(safety,),
                score=score,
                capability=score,
                passed=score >= 0.6,
            )
            records.append(
                trial.end(
                    Status.COMPLETED,
                    grade=grade,
                    lock=parts,
                    seconds=seconds,
                    usage=Usage(cost_usd=usd),
                )
            )
    write_plan(folder / "plan.json", planned)
    for record in records:
        Ledger(folder / "ledger.jsonl").append(record.to_json(), wait=False)
    if not (folder / "ledger.jsonl").exists():
        (folder / "ledger.jsonl").write_bytes(b"")
    return folder
