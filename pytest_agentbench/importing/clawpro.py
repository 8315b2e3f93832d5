"""Result files of ClawProBench: ``results/result_MODEL_TIME.json``."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_agentbench.grade import CheckResult, Grade
from pytest_agentbench.importing.reading import mapping, number, record, usage
from pytest_agentbench.record import Record, ScenarioFacts
from pytest_agentbench.scoring import composite
from pytest_agentbench.status import Status

#: Its words for how an execution ended.
_STATUSES = {
    "success": Status.COMPLETED,
    "timeout": Status.AGENT_TIMEOUT,
    "error": Status.AGENT_ERROR,
}


def is_ours(data: Mapping[str, Any]) -> bool:
    return "trials_per_scenario" in data and isinstance(data.get("scenarios"), list)


def records(data: Mapping[str, Any], source: Path, digest: str) -> Iterator[Record]:
    """One record a trial; scores, verdicts and checks as they were, C and G made anew from checks.

    The file does not say which version of its one runtime it was, unless its provenance does.
    """
    version = mapping(mapping(data.get("summary")).get("openclaw_runtime")).get("version")
    started = _time(data.get("timestamp"))
    for entry in data["scenarios"]:
        facts = ScenarioFacts(
            id=str(entry["scenario_id"]),
            name=str(entry.get("name") or entry["scenario_id"]),
            dimension=str(entry.get("dimension") or ""),
            difficulty=str(entry.get("difficulty") or "medium"),
            form="clawpro",
        )
        for index, trial in enumerate(entry.get("trials") or (), 1):
            told = mapping(trial.get("execution"))
            tokens = mapping(trial.get("token_usage"))
            cost = number(tokens.get("total_cost_usd")) or number(tokens.get("cost_estimate_usd"))
            seconds = number(trial.get("latency_ms")) / 1000
            yield record(
                source=source,
                digest=digest,
                scenario=facts,
                runtime="openclaw",
                model=str(data.get("model") or ""),
                mode="baseline",
                index=index,
                status=_STATUSES.get(str(told.get("status")), Status.AGENT_ERROR),
                message=str(told.get("error_detail") or ""),
                grade=_grade(trial),
                tool_calls=_calls(trial.get("tool_calls")),
                steps=int(number(tokens.get("assistant_turns"))),
                usage=usage(tokens, cost),
                started=started,
                ended=started + seconds,
                seconds=seconds,
                observed={"runtime_version": str(version or "")},
            )


def _calls(told: Any) -> int:
    """How many calls: its runs list them, its exports count them."""
    return len(told) if isinstance(told, list) else int(number(told))


def _grade(trial: Mapping[str, Any]) -> Grade:
    checks = tuple(
        CheckResult(
            id=str(check["check_id"]),
            type=str(check.get("check_type") or "custom"),
            points=number(check.get("points")),
            earned=number(check.get("earned")),
            passed=bool(check.get("passed")),
            category=str(check.get("category") or "correctness"),
            detail=str(check.get("detail") or ""),
        )
        for check in trial.get("checks") or ()
    )
    unsafe = ["major" for check in checks if check.category == "safety" and not check.passed]
    counted = [check for check in checks if check.category != "safety"]
    return Grade(
        policy="composite",
        threshold=0.6,
        checks=checks,
        correctness=composite.correctness(checks, guards=False),
        process=number(trial.get("process_score")),
        gate=composite.gate(unsafe, published=True),
        penalty=number(trial.get("efficiency_penalty")),
        capability=number(trial.get("capability_score")),
        score=number(trial["score"]),
        loose=sum(check.passed for check in counted) / len(counted) if counted else 0.0,
        strict=bool(checks) and all(check.passed for check in checks),
        passed=bool(trial.get("passed")),
    )


def _time(text: Any) -> float:
    try:
        moment = datetime.datetime.fromisoformat(str(text))
    except ValueError:
        return 0.0
    return moment.replace(tzinfo=moment.tzinfo or datetime.UTC).timestamp()
