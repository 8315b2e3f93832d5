"""Files that a trial leaves as evidence: ``trials/<key>/``."""

from __future__ import annotations

from pathlib import Path

from pytest_agentbench.execution import Execution
from pytest_agentbench.trace.canonical import write_events

PROMPT, TRACE, WORKSPACE = "prompt.txt", "trace.jsonl", "workspace"
#: Characters of the prompt that are kept.
_PROMPT_LIMIT = 1 << 20


def write_artefacts(folder: Path, execution: Execution | None, prompt: str = "") -> None:
    """Write ``prompt.txt``, ``stdout``, ``stderr`` and ``trace.jsonl``, where there is something.

    Those of an earlier try are removed.
    """
    if execution is None:
        return
    done, events = execution.completed, execution.trace.events
    told = prompt[:_PROMPT_LIMIT].encode("utf-8", "backslashreplace")
    contents = {PROMPT: told, "stdout": done.stdout, "stderr": done.stderr}
    if events or any(contents.values()):
        folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        if content:
            (folder / name).write_bytes(content)
        else:
            (folder / name).unlink(missing_ok=True)
    if events:
        write_events(folder / TRACE, events)
    else:
        (folder / TRACE).unlink(missing_ok=True)
