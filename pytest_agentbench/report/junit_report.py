"""JUnit XML in which a fault is an error, an agent's failure a failure, and never the other."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from datetime import UTC, datetime
from shutil import copyfileobj
from typing import BinaryIO

from pytest_agentbench.record import PlannedTrial, Record, properties
from pytest_agentbench.report.failure import failure_text
from pytest_agentbench.report.flat import status_of
from pytest_agentbench.report.reader import RunReader
from pytest_agentbench.text import escape

#: What XML 1.0 can hold neither as it is nor as a reference.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCES = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        '"': "&quot;",
        "\n": "&#10;",
        "\t": "&#9;",
        "\r": "&#13;",
    }
)
_MESSAGE = 500


def write(run: RunReader, out: BinaryIO) -> None:
    """One suite with a case a trial, in the order of the plan. Raises ``RunError``."""
    counts: Counter[str] = Counter()
    seconds, started = 0.0, 0.0
    with tempfile.TemporaryFile() as cases:  # the sums stand before them
        for trial, record in run.pairs():
            kind, text = case(trial, record)
            counts[kind] += 1
            if record is not None:
                seconds += record.seconds
                started = min(filter(None, (started, record.started)), default=0.0)
            cases.write(text.encode())
        sums = (
            f'tests="{counts.total()}" failures="{counts["failure"]}" '
            f'errors="{counts["error"]}" skipped="{counts["skipped"]}" time="{seconds:.3f}"'
        )
        begun = datetime.fromtimestamp(started, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        out.write(
            f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="pytest-agentbench" {sums}>\n'
            f'<testsuite name="agentbench" {sums} timestamp="{begun}">\n'.encode()
        )
        cases.seek(0)
        copyfileobj(cases, out)
    out.write(b"</testsuite>\n</testsuites>\n")


def case(trial: PlannedTrial, record: Record | None) -> tuple[str, str]:
    """Which of ``passed``, ``failure``, ``error`` and ``skipped`` it is, and the element."""
    status = status_of(record)
    path, _, name = trial.node_id.rpartition("::")
    group = re.sub(r"\.[a-z]+$", "", path).replace("/", ".")
    seconds = record.seconds if record else 0.0
    head = f'<testcase classname="{quoted(group)}" name="{quoted(name)}" time="{seconds:.3f}">\n'
    said = record.message if record else ""
    kind, inner = "passed", ""
    if status.policy.counts == "skip":
        kind, inner = "skipped", f'<skipped message="{quoted(said)}"/>\n'
    elif record is None or not record.graded or record.grade is None:
        kind = "error"
        message = escape(f"{status}: {said}" if said else status.value, _MESSAGE)
        inner = _element("error", status.value, message, said or status.value)
    elif not record.grade.passed:
        kind = "failure"
        text = failure_text(record.grade, status, said)
        inner = _element("failure", status.value, text.partition("\n")[0], text)
    return kind, f"{head}{_properties(record)}{inner}</testcase>\n"


def quoted(text: str) -> str:
    """``text`` for an attribute or an element; what XML cannot hold is escaped as in Python."""
    held = _NOT_XML.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return held.translate(_REFERENCES)


def _element(name: str, kind: str, message: str, text: str) -> str:
    return f'<{name} type="{quoted(kind)}" message="{quoted(message)}">{quoted(text)}</{name}>\n'


def _properties(record: Record | None) -> str:
    if record is None:
        return ""
    lines = "".join(
        f'<property name="{name}" value="{quoted(str(value))}"/>\n'
        for name, value in properties(record)
    )
    return f"<properties>\n{lines}</properties>\n"
