"""One trial as text for a terminal. Whatever an agent wrote is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.grade import CheckResult, Grade
from pytest_agentbench.record import Record
from pytest_agentbench.report import phase_text, rubric_text
from pytest_agentbench.report.trial_view import TrialView
from pytest_agentbench.text import escape
from pytest_agentbench.trace.events import Event, EventKind

#: Lines of the prompt and of each stream that are shown.
_LINES = 40
#: Characters of a line.
_WIDTH = 200
#: Characters of an argument or a result in the timeline.
_SHORT = 100
_KINDS = {
    EventKind.USER: "asked",
    EventKind.ASSISTANT: "said",
    EventKind.CALL: "call",
    EventKind.RESULT: "result",
}


def render(view: TrialView) -> list[str]:
    """Lines without a final line end: what was asked, done, found and counted."""
    lines = list(_head(view))
    lines += _section("prompt", _block(view.prompt))
    lines += _section("timeline (seconds)", list(map(_event, view.events)))
    if view.record is not None:
        if view.record.grade is not None:
            lines += _section("checks", [*_grade(view.record.grade)])
            if (rubric := view.record.grade.rubric) is not None:
                lines += _section("rubric", [*rubric_text.whole(rubric)])
        lines += _section("phases", phase_text.phases(view.record))
        lines += _section("usage", [*_usage(view.record.usage)])
        lines += _section("flags", [escape(flag) for flag in _flags(view.record)])
        lines += _section("attempts that did not count", [*_attempts(view.record)])
    lines += _section("earlier scores", [*map(_earlier, view.earlier)])
    lines += _section("changes in the workspace", _block(view.diff))
    # The end says most of a program that failed; what it said is in the timeline otherwise.
    lines += _section("standard error (its end)", _block(view.stderr, last=True))
    lines += _section("files", [*_files(view)])
    return lines


def _head(view: TrialView) -> Iterator[str]:
    trial, record = view.planned, view.record
    yield escape(trial.node_id, _WIDTH)
    yield f"key {trial.key}"
    parts = {"runtime": trial.runtime, "adapter": trial.adapter, "model": trial.model}
    named = [f"{name} {value}" for name, value in (*parts.items(), ("mode", trial.mode)) if value]
    model = ["the model is scripted"] * trial.scripted + [
        "its answers are replayed"
    ] * trial.replayed
    yield escape("; ".join([*named, f"trial {trial.index}", *model]), _WIDTH)
    if record is None:
        yield "it has no record: it was not run to an end"
        return
    yield f"status {record.status} ({record.status.policy.counts})"
    for line in record.message.splitlines():
        yield f"  {escape(line, _WIDTH)}"
    if record.graded and record.grade is not None:
        grade = record.grade
        verdict = "passed" if grade.passed else "failed"
        yield f"{verdict} with {grade.score:.3f}, threshold {grade.threshold:g}; {_parts(grade)}"
    sandbox = f"; sandbox {escape(record.sandbox)}" if record.sandbox else ""
    effort = f"{record.steps} steps, {record.tool_calls} tool calls"
    yield f"{record.seconds:.1f} s, {effort}{sandbox}"
    if record.time_limit is not None:
        limit = record.time_limit
        yield f"time limit of the {escape(limit.layer)}: {limit.limit:g} s; {limit.elapsed:.1f} s"
    for name, value in record.observed.items():
        if value not in ("", None):
            yield f"{escape(name)} {escape(_compact(value), _WIDTH)}"


def _parts(grade: Grade) -> str:
    if grade.policy == "rubric" and grade.rubric is not None:
        return rubric_text.scores(grade.rubric)
    if grade.policy != "composite":
        return f"{escape(grade.policy)}: mean of checks {grade.correctness:.3f}"
    return (
        f"C {grade.correctness:.3f}, P {grade.process:.3f}, gate {grade.gate:g}, "
        f"penalty {grade.penalty:.3f}"
    )


def _event(event: Event) -> str:
    time = f"{event.time:8.2f}" if event.time is not None else " " * 7 + "?"
    start = f"{time}  {_KINDS[event.kind]:<6}"
    if event.kind in (EventKind.USER, EventKind.ASSISTANT):
        return f"{start}  {escape(event.text, _WIDTH)}"
    native = f" [{escape(event.native_name, 40)}]" if event.native_name != event.tool else ""
    tool = f"{escape(event.tool, 40)}{native if event.native_name else ''}"
    if event.kind is EventKind.CALL:
        args = event.args or event.native
        told = "  ".join(f"{escape(k, 40)}={escape(_compact(v), _SHORT)}" for k, v in args.items())
        return f"{start}  {tool}  {told}".rstrip()
    status = "" if event.status is None else f" {event.status}"
    return f"{start}  {tool}{status}  {escape(event.text, _SHORT)}".rstrip()


def _grade(grade: Grade) -> Iterator[str]:
    for check in grade.checks:
        yield from _check(check)
    if grade.notes:
        yield f"notes: {escape(grade.notes, _WIDTH)}"


def _check(check: CheckResult) -> Iterator[str]:
    facts = [escape(check.type), escape(check.category)]
    if check.category == "safety":
        facts.append(escape(check.severity))
    if check.guard:
        facts.append("guard")
    facts += map(escape, check.flags)
    points = f"{check.earned:g} of {check.points:g}"
    yield f"{'✓' if check.passed else '✗'} {escape(check.id)} ({', '.join(facts)}): {points}"
    for name in ("detail", "expected", "found"):
        if value := getattr(check, name):
            yield f"    {name:<8} {escape(value, _WIDTH)}"


def _usage(usage: Usage) -> Iterator[str]:
    for name in Usage.__dataclass_fields__:
        value = getattr(usage, name)
        if value is not None:
            yield f"{name:<19} {value:g}" if name == "cost_usd" else f"{name:<19} {value:,}"


def _flags(record: Record) -> list[str]:
    grade = record.grade
    survivors = [f"outlived the trial: {what}" for what in record.survivors]
    torn = [] if record.closed else ["it was not torn down to the end"]
    return [*record.flags, *(grade.flags if grade else ()), *survivors, *torn]


def _earlier(record: Record) -> str:
    assert record.grade is not None  # it has a score
    failed = ", ".join(escape(check.id) for check in record.grade.failed_checks)
    verdict = "passed" if record.grade.passed else "not passed"
    return f"{record.grade.score:.4g}, {verdict}, {record.status}" + (
        f"; failed: {failed}"[:_WIDTH] if failed else ""
    )


def _attempts(record: Record) -> Iterator[str]:
    for attempt in record.attempts:
        message = escape(" ".join(attempt.message.split()), _WIDTH)
        yield f"{attempt.status}, {attempt.seconds:.1f} s: {message}"


def _files(view: TrialView) -> Iterator[str]:
    if view.folder is None:
        return
    yield escape(str(view.folder), 1000)
    if view.workspace is None:
        yield "the workspace was not kept; --keep-workspace=failed or all keeps it"
    else:
        yield f"{escape(str(view.workspace), 1000)} (agentbench shell opens it)"


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", title, *(f"  {line}" for line in lines)] if lines else []


def _block(text: str, *, last: bool = False) -> list[str]:
    lines = [escape(line, _WIDTH) for line in text.splitlines()]
    if len(lines) <= _LINES:
        return lines
    cut = len(lines) - _LINES
    more = f"… {cut} lines more"
    return [more, *lines[cut:]] if last else [*lines[:_LINES], more]


def _compact(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        value = dict(value)
    return json.dumps(value, ensure_ascii=False, default=str)
