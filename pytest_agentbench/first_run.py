"""The file that tells a later phase how the first run went.

Its fields are those of EvoClawBench's ``first_run_context.json`` (appendix B). It shows the end of
the run as well as its beginning, and says of each check whether it passed: never what was expected.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Execution
from pytest_agentbench.files import read_regular
from pytest_agentbench.grade import Grade
from pytest_agentbench.plain import plain
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.text import encodable
from pytest_agentbench.trace.events import Event, EventKind

#: Output files that are shown, and characters of each.
FILES, PREVIEW = 40, 1000
#: Events from the beginning and from the end of the run, and characters of each.
BEGIN, END, MESSAGE = 12, 12, 600
_READ = 4 * PREVIEW


def first_run(
    scenario: Scenario,
    execution: Execution,
    grade: Grade | None,
    outputs: Iterable[str],
    workspace: Path,
    *,
    published: bool = False,
) -> bytes:
    """The file, as JSON in UTF-8.

    ``outputs`` are paths in the workspace that the agent wrote. What the scenario says for its
    judge may name results, so that it is shown under ``published`` scoring alone.
    """
    told: dict[str, Any] = {
        "task_id": scenario.id,
        "task_name": scenario.name or scenario.id,
        "prompt": scenario.prompt,
        "expected_behavior": scenario.expected_outcome if published else "",
        "grading_criteria": list(scenario.criteria) if published else [],
        "status": execution.status.value,
        "seconds": round(execution.seconds, 1),
        "grade": _grade(grade),
        "outputs": [_output(workspace, path) for path in sorted(outputs)[:FILES]],
        "transcript_summary": _summary(execution.trace.events),
    }
    return (json.dumps(encodable(told), indent=2, ensure_ascii=False) + "\n").encode()


def _grade(grade: Grade | None) -> dict[str, Any] | None:
    """None is *not graded*."""
    if grade is None:
        return None
    return {
        "score": round(grade.score, 4),
        "max_score": 1.0,
        "passed": grade.passed,
        "breakdown": {check.id: check.passed for check in grade.checks},
        "sub_problem_scores": plain(grade.sub_problems),
    }


def _output(workspace: Path, path: str) -> dict[str, Any]:
    try:
        size = (workspace / path).lstat().st_size
        text = read_regular(workspace / path, _READ).decode("utf-8", "replace")
    except OSError as error:
        return {"path": path, "error": error.strerror or type(error).__name__}
    return {"path": path, "size_bytes": size, "content_preview": text[:PREVIEW]}


def _summary(events: tuple[Event, ...]) -> list[str]:
    told = [line for event in events if (line := _line(event))]
    left_out = len(told) - BEGIN - END
    if left_out <= 0:
        return told
    return [*told[:BEGIN], f"({left_out} more)", *told[-END:]]


def _line(event: Event) -> str:
    match event.kind:
        case EventKind.CALL:
            role, text = "call", f"{event.tool} {json.dumps(plain(event.args), default=str)}"
        case EventKind.RESULT:
            role, text = "result", event.text
        case EventKind.USER:
            role, text = "user", event.text
        case _:
            role, text = "assistant", event.text
    text = " ".join(text.split())
    return f"{role}: {text[:MESSAGE]}" if text else ""
