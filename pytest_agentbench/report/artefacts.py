"""Files that a trial leaves as evidence: ``trials/<key>/``."""

from __future__ import annotations

from pathlib import Path

from pytest_agentbench.execution import Execution
from pytest_agentbench.trace.canonical import write_events


def write_artefacts(folder: Path, execution: Execution | None) -> None:
    """Write ``stdout``, ``stderr`` and ``trace.jsonl``, each only where there is something."""
    if execution is None:
        return
    done, events = execution.completed, execution.trace.events
    if done.stdout or done.stderr or events:
        folder.mkdir(parents=True, exist_ok=True)
    for name, content in (("stdout", done.stdout), ("stderr", done.stderr)):
        if content:
            (folder / name).write_bytes(content)
    if events:
        write_events(folder / "trace.jsonl", events)
