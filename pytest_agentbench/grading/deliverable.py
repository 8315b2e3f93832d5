"""What a judge is shown: the files that the agent made or changed, and what it did."""

from __future__ import annotations

import stat

from pytest_agentbench.grading.evidence import Evidence, Unreadable
from pytest_agentbench.grading.snapshot import entries
from pytest_agentbench.text import cut
from pytest_agentbench.trace.events import EventKind, Trace

FILES, FILE_CHARACTERS = 20, 4000
EVENTS, EVENT_CHARACTERS = 100, 500


def deliverable(evidence: Evidence) -> str:
    """The new and the changed files as text, each headed by its path; empty when there are none."""
    inputs = {entry.dest: entry for entry in evidence.inputs}
    shown: list[str] = []
    for entry in entries(evidence.workspace):
        if not stat.S_ISREG(entry.mode):
            continue
        try:
            content = evidence.read(entry.path)
        except Unreadable as reason:
            shown.append(f"=== {reason}")
            continue
        if entry.path in inputs and inputs[entry.path].read() == content:
            continue
        if len(shown) == FILES:
            shown.append("=== (more files are not shown)")
            break
        shown.append(f"=== {entry.path}\n{_readable(content)}")
    return _clean("\n\n".join(shown))


def transcript(trace: Trace) -> str:
    """The last events, one a line."""
    lines = []
    for event in trace.events[-EVENTS:]:
        match event.kind:
            case EventKind.CALL:
                text = f"{event.tool} {dict(event.args)}"
            case _:
                text = event.text
        lines.append(f"{event.kind}: {cut(' '.join(text.split()), EVENT_CHARACTERS)}")
    return _clean("\n".join(lines))


def _readable(content: bytes) -> str:
    try:
        return cut(content.decode(), FILE_CHARACTERS)
    except UnicodeDecodeError:
        return f"({len(content):,} bytes that are no text)"


def _clean(text: str) -> str:
    """Names that are not UTF-8 may not reach a judge's request as they are."""
    return text.encode("utf-8", "backslashreplace").decode()
