"""CTRF (Common Test Report Format, ctrf.io), which dashboards and CI plugins read."""

from __future__ import annotations

from collections import Counter
from typing import Any, BinaryIO

from pytest_agentbench import __version__
from pytest_agentbench.record import PlannedTrial, Record
from pytest_agentbench.report.failure import failure_text
from pytest_agentbench.report.flat import status_of
from pytest_agentbench.report.reader import RunReader
from pytest_agentbench.report.replaced import dumps
from pytest_agentbench.text import encodable, escape

#: The version of the format that the published examples name.
SPEC_VERSION = "0.1.0"
#: What a trial without a score is there, by what its status counts as: never "failed", which is
#: what the agent did.
_UNGRADED = {
    "infrastructure": "other",
    "grader fault": "other",
    "not run": "pending",
    "skip": "skipped",
    "result": "other",
}
_STATUSES = ("passed", "failed", "skipped", "pending", "other")


def write(run: RunReader, out: BinaryIO) -> None:
    """``rawStatus`` is the trial's own status. Raises ``RunError``."""
    counts: Counter[str] = Counter()
    start = stop = 0
    out.write(
        f'{{"reportFormat": "CTRF", "specVersion": "{SPEC_VERSION}",\n"results": {{'
        f'"tool": {{"name": "pytest-agentbench", "version": "{__version__}"}},\n"tests": ['.encode()
    )
    separator = b"\n"
    for trial, record in run.pairs():
        item = test(trial, record)
        counts[item["status"]] += 1
        start = min(filter(None, (start, item.get("start", 0))), default=0)
        stop = max(stop, item.get("stop", 0))
        out.write(separator + dumps(item).encode())
        separator = b",\n"
    summary = {"tests": counts.total(), "start": start, "stop": stop}
    summary |= {status: counts[status] for status in _STATUSES}
    out.write(f'\n],\n"summary": {dumps(summary)}}}}}\n'.encode())


def test(trial: PlannedTrial, record: Record | None) -> dict[str, Any]:
    """One item of ``tests``; times are in milliseconds."""
    status = status_of(record)
    path, _, name = trial.node_id.rpartition("::")
    labels = {"runtime": trial.runtime, "mode": trial.mode, "trial": trial.index}
    labels |= {"model": trial.model} if trial.model else {}
    item: dict[str, Any] = {
        "name": name or trial.key,
        "status": _UNGRADED[status.policy.counts],
        "rawStatus": status.value,
        "duration": 0,
        "suite": [part for part in (trial.scenario.dimension, trial.scenario.id) if part],
        "filePath": path,
        "type": "agent benchmark",
        "tags": list(trial.scenario.tags),
        "labels": labels,
    }
    if record is None:
        return _clean(item)
    item |= {
        "duration": round(record.seconds * 1000),
        "start": round(record.started * 1000),
        "stop": round(record.ended * 1000),
    }
    if record.message:
        item["message"] = record.message
    if record.graded and record.grade is not None:
        grade = record.grade
        item["status"] = "passed" if grade.passed else "failed"
        item["extra"] = {"score": grade.score, "threshold": grade.threshold}
        if not grade.passed:
            item["message"] = failure_text(grade, status, record.message)
    if record.attempts:
        item["retries"] = len(record.attempts)
        item["retryAttempts"] = [
            {
                "attempt": number,
                "status": _UNGRADED[attempt.status.policy.counts],
                "duration": round(attempt.seconds * 1000),
                "message": f"{attempt.status}: {escape(attempt.message, 1000)}",
            }
            for number, attempt in enumerate(record.attempts, 1)
        ]
    return _clean(item)


def _clean(item: dict[str, Any]) -> dict[str, Any]:
    cleaned: dict[str, Any] = encodable(item)
    return cleaned
