"""What the page shows of one trial, cut to a number of characters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_agentbench.grade import CheckResult, CriterionVerdict
from pytest_agentbench.record import PlannedTrial, Record
from pytest_agentbench.report.artefacts import DIFF, PROMPT, STDERR, STDOUT, TRACE, read
from pytest_agentbench.trace.canonical import parse_events
from pytest_agentbench.trace.events import Event, EventKind

#: Bytes of a file that are read: what is shown is far less.
_READ = 1 << 20
#: Characters of a message, a prompt, a reason; of one text in the timeline.
_MESSAGE, _PROMPT, _REASON, _SHORT = 600, 2_000, 300, 240
_KINDS = {
    EventKind.USER: "asked",
    EventKind.ASSISTANT: "said",
    EventKind.CALL: "call",
    EventKind.RESULT: "result",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """Texts of a trial as they are; whoever shows them takes none for markup.

    ``checks`` has a list a check and ``criteria`` one a criterion; ``events`` one of time, kind,
    tool, status and text.
    """

    checks: tuple[list[Any], ...] = ()
    criteria: tuple[list[Any], ...] = ()
    events: tuple[list[Any], ...] = ()
    prompt: str = ""
    stdout: str = ""
    stderr: str = ""
    diff: str = ""

    def within(self, room: int) -> dict[str, Any]:
        """As JSON of about ``room`` characters: checks and criteria first, then events, diff, streams.

        ``cut`` names what is not all there.
        """
        shown: dict[str, Any] = {}
        cut = []
        for name in ("checks", "criteria", "events"):
            rows, left = getattr(self, name), room
            kept = []
            for row in rows:
                left -= len(json.dumps(row))
                if left < 0:
                    break
                kept.append(row)
            if kept:
                shown[name] = kept
            if len(kept) < len(rows):
                cut.append(f"{name}: {len(rows) - len(kept)} more")
            room = max(0, left)
        parts = [name for name in ("prompt", "diff", "stderr", "stdout") if getattr(self, name)]
        for place, name in enumerate(parts):
            text = getattr(self, name)
            most = room // (len(parts) - place)
            # The end says most of a stream.
            part = (text[-most:] if most else "") if name.startswith("std") else text[:most]
            room -= len(part)
            if part:
                shown[name] = part
            if len(part) < len(text):
                cut.append(f"{name}: {len(text) - len(part)} characters more")
        if cut:
            shown["cut"] = cut
        return shown


def exhibit(run_dir: Path, trial: PlannedTrial, record: Record | None, room: int) -> Exhibit:
    """What was kept of a trial; each text with at most ``room`` characters, so that many fit."""
    folder = run_dir / "trials" / trial.key
    grade = record.grade if record is not None else None
    checks = tuple(map(_check, grade.checks)) if grade is not None else ()
    rubric = grade.rubric if grade is not None else None
    criteria = tuple(map(_criterion, rubric.verdicts)) if rubric is not None else ()
    if not folder.is_dir():
        return Exhibit(checks=checks, criteria=criteria)
    return Exhibit(
        checks=checks,
        criteria=criteria,
        events=tuple(_events(folder, room)),
        prompt=_text(folder, PROMPT)[: min(room, _PROMPT)],
        stdout=_text(folder, STDOUT)[-room:],
        stderr=_text(folder, STDERR)[-room:],
        diff=_text(folder, DIFF)[:room],
    )


def _check(check: CheckResult) -> list[Any]:
    texts = [check.detail, check.expected, check.found]
    if check.passed:
        texts = ["", "", ""]  # those of the others say what went wrong
    marks = ["guard"] * check.guard + list(check.flags)
    facts = [check.id, check.type, check.category, check.severity, check.earned, check.points]
    return [*facts, int(check.passed), *(text[:_REASON] for text in texts), marks]


def _criterion(verdict: CriterionVerdict) -> list[Any]:
    marks = ["gatekeeper"] * verdict.gatekeeper + ["must"] * verdict.must
    marks += ["should not hold"] * verdict.penalized + [verdict.source, *verdict.flags]
    quotes = "\n".join(verdict.quotes)[:_REASON]
    facts = [verdict.id, verdict.kind, verdict.category, verdict.credit, verdict.level]
    return [*facts, verdict.reason[:_REASON], quotes, marks]


def _events(folder: Path, room: int) -> Iterator[list[Any]]:
    # A line of the trace is cut to less than it is long, so more than that is never shown.
    data = read(folder, TRACE, min(_READ, 64 * room))
    for event in parse_events(data).events:
        text = _said(event)
        time = None if event.time is None else round(event.time, 2)
        yield [time, _KINDS[event.kind], event.tool, event.status, text[:_SHORT]]


def _said(event: Event) -> str:
    if event.kind is not EventKind.CALL:
        return event.text
    args = event.args or event.native
    return "  ".join(f"{name}={_value(value)}" for name, value in args.items())


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _text(folder: Path, name: str) -> str:
    return read(folder, name, _READ).decode("utf-8", "replace")
