"""Result files of EvoClawBench: ``RUN_MODEL_RUNTIME.json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.grade import CheckResult, Grade
from pytest_agentbench.importing.evoclaw_phases import phases, status_of
from pytest_agentbench.importing.reading import mapping, number, record, usage
from pytest_agentbench.record import Record, ScenarioFacts

MODES = ("baseline", "preskill", "postskill")
#: The task that is no part of the official count; results do not say its category.
_SANITY = "task_00_sanity"


def is_ours(data: Mapping[str, Any]) -> bool:
    return any(isinstance(data.get(f"{mode}_results"), Mapping) for mode in MODES)


def records(data: Mapping[str, Any], source: Path, digest: str) -> Iterator[Record]:
    """One record a run of a task in a mode, graded as it was.

    Exports tell usage for all runs of a task together: a record then has an equal part of it.
    """
    started = number(data.get("timestamp"))
    for mode in MODES:
        for task, entry in sorted(mapping(data.get(f"{mode}_results")).items()):
            grades = list(entry.get("grades") or ())
            runs = list(entry.get("results") or ())
            for index, grade in enumerate(grades, 1):
                run = mapping(runs[index - 1]) if index <= len(runs) else {}
                seconds = number(run.get("execution_time"))
                yield record(
                    source=source,
                    digest=digest,
                    scenario=ScenarioFacts(
                        id=str(task),
                        name=str(task),
                        policy="mean",
                        threshold=1.0,
                        form="evoclaw",
                        official=str(task) != _SANITY,
                    ),
                    runtime=str(data.get("runtime") or ""),
                    model=str(data.get("model") or ""),
                    mode=mode,
                    index=index,
                    status=status_of(run),
                    grade=_grade(grade),
                    usage=_usage(run, entry, len(grades)),
                    started=started,
                    ended=started + seconds,
                    seconds=seconds,
                    phases=phases(mode, entry, index - 1),
                    observed={"judge": str(data.get("judge_model") or "")},
                )


def _usage(run: Mapping[str, Any], entry: Mapping[str, Any], runs: int) -> Usage:
    own = mapping(run.get("usage"))
    if own:
        return usage(own, number(own.get("cost_usd")))
    shared = {name: number(value) / runs for name, value in mapping(entry.get("usage")).items()}
    return usage(shared, shared.get("total_cost_usd") or shared.get("cost_usd") or 0.0)


def _grade(data: Mapping[str, Any]) -> Grade:
    score = number(data["score"]) / (number(data.get("max_score")) or 1.0)
    checks = tuple(
        CheckResult(
            id=str(name), type="custom", points=1.0, earned=number(value), passed=number(value) >= 1
        )
        for name, value in mapping(data.get("breakdown")).items()
    )
    subs = data.get("sub_problem_scores") or ()
    return Grade(
        policy="mean",
        threshold=1.0,
        checks=checks,
        correctness=score,
        capability=score,
        score=score,
        loose=sum(check.passed for check in checks) / len(checks) if checks else score,
        strict=score >= 1,
        passed=score >= 1,
        sub_problems={str(number): float(value) for number, value in enumerate(subs, 1)},
        notes=str(data.get("notes") or ""),
    )
