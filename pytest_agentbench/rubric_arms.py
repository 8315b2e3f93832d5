"""What a rubric is drafted from: the compacted trace and the workspace of a finished trial."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_agentbench.record import PlannedTrial, Record
from pytest_agentbench.report.artefacts import CHANGES, DIFF, TRACE
from pytest_agentbench.report.artefacts import read as artefact
from pytest_agentbench.report.run import RunError, read_run
from pytest_agentbench.scoring.skill_attribution import CONTROLS
from pytest_agentbench.text import cut
from pytest_agentbench.trace.canonical import parse_events
from pytest_agentbench.trace.events import Event, EventKind, Tool

#: Characters of a text of an event (SkillForgeBench E.4 has 900 for edits), events of an arm, of
#: which the first and the last are shown, and characters of its changed files.
TEXT, EVENTS, FILES = 900, 240, 40_000
_KINDS = {
    Tool.READ: "read",
    Tool.SKILL: "read",
    Tool.WRITE: "edit",
    Tool.EDIT: "edit",
    Tool.EXEC: "exec",
    Tool.SEARCH: "search",
    Tool.BROWSE: "search",
}


class ArmError(Exception):
    """A run that gives no arm; the message says which trials there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One trial. ``events`` are compacted, ``changes`` what it did to which file, ``diff`` how."""

    record: Record
    run: str
    events: tuple[dict[str, Any], ...]
    changes: tuple[dict[str, str], ...]
    diff: str

    def to_json(self) -> dict[str, Any]:
        return {
            "events": list(self.events),
            "changes": list(self.changes),
            "workspace": self.diff,
        }


def arm(folder: Path, scenario: str, *, skilled: bool, key: str = "") -> Arm:
    """The graded trial of ``scenario`` in a run, with a skill or without, or that of ``key``.

    Of several that differ only in their index the first is taken. Raises ``ArmError``.
    """
    try:
        run = read_run(folder)
    except (RunError, OSError) as error:
        raise ArmError(str(error)) from None
    records = [each for each in run.view.records.values() if each.scenario.id == scenario]
    found = [each for each in records if each.graded and _fits(each, skilled, key)]
    others = {(each.runtime, each.model, each.mode) for each in found}
    if len(others) != 1:
        kind = "a mode with a skill" if skilled else "the mode baseline"
        asked = f"with the key {key!r}" if key else f"in {kind}"
        what = "no graded trial" if not found else "trials of several runtimes, models or modes"
        raise ArmError(
            f"{folder}: {what} of {scenario} {asked}"
            + (f"; give {folder}:KEY with one of:\n{_listed(found or records)}" if records else "")
        )
    chosen = min(found, key=lambda each: each.index)
    return _arm(chosen, folder)


def _fits(record: Record, skilled: bool, key: str) -> bool:
    if key:
        return record.key.startswith(key)
    return record.mode not in ("baseline", *CONTROLS) if skilled else record.mode == "baseline"


def _listed(trials: Sequence[PlannedTrial]) -> str:
    return "\n".join(f"  {t.key[:12]}  {t.node_id.rpartition('::')[2]}" for t in trials)


def _arm(record: Record, folder: Path) -> Arm:
    place = folder / "trials" / record.key
    events = parse_events(artefact(place, TRACE)).events
    if not events:
        raise ArmError(f"{folder}: the trial {record.key[:12]} has no trace; run it again")
    return Arm(
        record=record,
        run=f"{folder.name}/{record.key[:12]}",
        events=tuple(compact(events)),
        changes=tuple(_changes(artefact(place, CHANGES))),
        diff=cut(artefact(place, DIFF).decode("utf-8", "replace"), FILES),
    )


def _changes(data: bytes) -> Iterator[dict[str, str]]:
    """Path and kind of what changed, the runtime's own files left out."""
    try:
        found = json.loads(data or b"[]")
    except ValueError:
        return
    listed = found.get("files", ()) if isinstance(found, dict) else ()
    for each in listed:
        if isinstance(each, dict) and not each.get("own"):
            yield {"path": str(each.get("path", "")), "kind": str(each.get("kind", ""))}


def compact(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Events as E.4 has them: ``i`` index, ``t`` kind, ``x`` text or command, ``o`` output, and
    ``s`` for a call that failed (``fail``) or never came back (``canc``)."""
    results = {e.call_id: e for e in events if e.kind is EventKind.RESULT and e.call_id}
    made = [
        _event(index, event, results.get(event.call_id))
        for index, event in enumerate(events)
        if event.kind is not EventKind.RESULT
    ]
    if len(made) <= EVENTS:
        return made
    left = len(made) - EVENTS
    half = EVENTS // 2
    mark = {"i": made[half]["i"], "t": "other", "x": f"({left} events are left out here)"}
    return [*made[:half], mark, *made[-half:]]


def _event(index: int, event: Event, result: Event | None) -> dict[str, Any]:
    if event.kind is not EventKind.CALL:
        kind = "user" if event.kind is EventKind.USER else "msg"
        return {"i": index, "t": kind, "x": cut(event.text, TEXT)}
    known = {tool.value: kind for tool, kind in _KINDS.items()}
    found: dict[str, Any] = {"i": index, "t": known.get(event.tool, "other"), "x": _told(event)}
    if result is None:
        return {**found, "s": "canc"}
    if result.status is not None and result.status >= 400:
        found["s"] = "fail"
    return {**found, "o": cut(result.text, TEXT)} if result.text else found


def _told(event: Event) -> str:
    args = event.args
    if "argv" in args and isinstance(args["argv"], list):
        return cut(" ".join(map(str, args["argv"])), TEXT)
    named = [str(args[key]) for key in ("path", "command", "query", "url") if key in args]
    body = [str(args[key]) for key in ("content", "new") if key in args]
    text = "\n".join([*named, *body]) or json.dumps(dict(args), default=str)
    return cut(text, TEXT)
