"""Is a timetable of sessions one that its rooms, trainers and groups can keep?

Every function judges one rule over the plan at ``plan``, so that any plan that keeps all of them
is right. ``facts`` holds what is true: ``sessions``, ``rooms``, ``busy``, ``blocked``, ``day``,
``lunch``, ``dates``. A plan that places fewer than three quarters of the sessions keeps no rule.
Times are minutes of the day, read from HH:MM.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

Facts = Mapping[str, Any]
Answer = tuple[bool, str]
#: Bytes of a plan that anybody would write by hand or script, many times over.
_LIMIT = 100_000


@dataclass(frozen=True)
class Slot:
    """One session as the plan places it."""

    session: str
    date: str
    start: int
    end: int
    room: str
    trainer: str

    def meets(self, other: Slot, gap: int = 0) -> bool:
        return (
            self.date == other.date
            and self.start < other.end + gap
            and other.start < self.end + gap
        )

    def overlaps(self, date: str, start: int, end: int) -> bool:
        return self.date == date and self.start < end and start < self.end


def complete(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """Every session is there once, with its own trainer and length, and nothing else is."""
    slots = _slots(workspace, plan)
    names = [slot.session for slot in slots]
    wanted: dict[str, Any] = facts["sessions"]
    if sorted(names) != sorted(wanted):
        missing, extra = sorted({*wanted} - {*names}), sorted({*names} - {*wanted})
        return False, f"missing {missing}, not asked for {extra}, {len(names)} rows"
    for slot in slots:
        if slot.trainer != wanted[slot.session]["trainer"].casefold():
            return False, f"{slot.session} is held by somebody else"
    return True, ""


def lengths(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    return _all(workspace, plan, facts, "is too short or too long", _has_length)


def hours(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """On the days given, from a quarter of an hour, within the day and clear of lunch."""
    return _all(workspace, plan, facts, "is outside the hours", _in_hours)


def seats(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    return _all(workspace, plan, facts, "has more people than its room may hold", _is_seated)


def equipment(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    return _all(workspace, plan, facts, "lacks equipment", _is_equipped)


def rooms_free(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """No room is used while it is blocked, or within ``facts["gap"]`` minutes of another use."""
    slots = _placed(workspace, plan, facts)
    for slot in slots:
        for room, date, start, end in facts["blocked"]:
            if slot.room == room.casefold() and slot.overlaps(date, _time(start), _time(end)):
                return False, f"{slot.session}: {room} is blocked"
    return _no_pair(
        slots, lambda a, b: a.room == b.room and a.meets(b, facts["gap"]), "need one room"
    )


def trainers_free(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """No trainer is busy elsewhere or holds two sessions at once."""
    slots = _placed(workspace, plan, facts)
    for slot in slots:
        for trainer, date, start, end in facts["busy"]:
            if _trainer(slot, facts) == trainer and slot.overlaps(date, _time(start), _time(end)):
                return False, f"{slot.session}: {trainer} is busy"
    return _no_pair(
        slots,
        lambda a, b: _trainer(a, facts) == _trainer(b, facts) and a.meets(b),
        "need one trainer",
    )


def trainer_load(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """No trainer teaches more than ``facts["load"]`` minutes on one day."""
    taught: dict[tuple[str, str], int] = {}
    for slot in _placed(workspace, plan, facts):
        key = _trainer(slot, facts), slot.date
        taught[key] = taught.get(key, 0) + facts["sessions"][slot.session]["minutes"]
    over = [f"{who} on {date}" for (who, date), total in taught.items() if total > facts["load"]]
    return bool(taught) and not over, f"too much for {', '.join(over)}"


def groups_free(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    def one_group(a: Slot, b: Slot) -> bool:
        sessions = facts["sessions"]
        return bool(sessions[a.session]["group"] == sessions[b.session]["group"]) and a.meets(b)

    return _no_pair(_placed(workspace, plan, facts), one_group, "need one group")


def order(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """A session that builds on another begins when that has ended, or later."""
    slots = {slot.session: slot for slot in _placed(workspace, plan, facts)}
    for slot in slots.values():
        earlier = slots.get(facts["sessions"][slot.session].get("after", ""))
        if earlier and (slot.date, slot.start) < (earlier.date, earlier.end):
            return False, f"{slot.session} comes before {earlier.session} is over"
    return bool(slots), "nothing is placed"


def budget(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    slots = _placed(workspace, plan, facts)
    total = _cost(slots, facts)
    return bool(slots) and total <= facts["budget"], f"the rooms cost {total}"


def stated_cost(
    workspace: Path, trace: object, *, plan: str, facts: Facts, summary: str, key: str
) -> Answer:
    """The summary's cost is what the plan costs."""
    slots = _placed(workspace, plan, facts)
    try:
        stated = json.loads(_text(workspace, summary))[key]
    except (ValueError, LookupError, TypeError, RecursionError):
        return False, f"{summary} has no {key}"
    total = _cost(slots, facts)
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        return False, f"{key} is no number"
    return bool(slots) and abs(stated - total) < 0.005, f"the rooms cost {total}"


def _slots(workspace: Path, plan: str) -> list[Slot]:
    """The rows of the plan that can be read; none if it is no table."""
    slots = []
    try:
        for row in csv.DictReader(_text(workspace, plan).splitlines()):
            cell = {str(k).strip().casefold(): str(v or "").strip() for k, v in row.items()}
            slots.append(
                Slot(
                    session=cell["session"].upper(),
                    date=cell["date"],
                    start=_time(cell["start"]),
                    end=_time(cell["end"]),
                    room=cell["room"].casefold(),
                    trainer=cell["trainer"].casefold(),
                )
            )
    except (KeyError, ValueError, csv.Error):
        return []
    return slots


def _text(workspace: Path, name: str) -> str:
    """The text of a regular file of moderate size inside the workspace, or nothing."""
    path = (workspace / name).resolve()
    inside = path.is_relative_to(workspace.resolve()) and path.is_file()
    if not inside or path.stat().st_size > _LIMIT:
        return ""
    return path.read_text("utf-8-sig", "replace")


def _time(text: str) -> int:
    hour, minute = text.split(":")[:2]
    return int(hour) * 60 + int(minute)


def _placed(workspace: Path, plan: str, facts: Facts) -> list[Slot]:
    """The known sessions of the plan, if it is a plan at all."""
    slots = [slot for slot in _slots(workspace, plan) if slot.session in facts["sessions"]]
    enough = len({slot.session for slot in slots}) * 4 >= len(facts["sessions"]) * 3
    return slots if enough else []


def _all(
    workspace: Path, plan: str, facts: Facts, problem: str, rule: Callable[[Slot, Facts], bool]
) -> Answer:
    slots = _placed(workspace, plan, facts)
    bad = [slot.session for slot in slots if not rule(slot, facts)]
    return bool(slots) and not bad, f"{', '.join(bad)} {problem}" if slots else "there is no plan"


def _no_pair(slots: list[Slot], clash: Callable[[Slot, Slot], bool], problem: str) -> Answer:
    pairs: Iterator[tuple[Slot, Slot]] = combinations(slots, 2)
    bad = next((pair for pair in pairs if clash(*pair)), None)
    if bad:
        return False, f"{bad[0].session} and {bad[1].session} {problem} at one time"
    return bool(slots), "there is no plan"


def _has_length(slot: Slot, facts: Facts) -> bool:
    return bool(slot.end - slot.start == facts["sessions"][slot.session]["minutes"])


def _in_hours(slot: Slot, facts: Facts) -> bool:
    first, last = map(_time, facts["day"])
    lunch = [_time(text) for text in facts["lunch"]]
    return (
        slot.date in facts["dates"]
        and slot.start % 15 == 0
        and first <= slot.start < slot.end <= last
        and not slot.overlaps(slot.date, lunch[0], lunch[1])
    )


def _is_seated(slot: Slot, facts: Facts) -> bool:
    room = _room(slot, facts)
    return room is not None and facts["sessions"][slot.session]["people"] <= room["seats"]


def _is_equipped(slot: Slot, facts: Facts) -> bool:
    room = _room(slot, facts)
    needs = facts["sessions"][slot.session].get("needs", [])
    return room is not None and all(need in room["has"] for need in needs)


def _room(slot: Slot, facts: Facts) -> Mapping[str, Any] | None:
    rooms: Mapping[str, Any] = facts["rooms"]
    return next((room for name, room in rooms.items() if name.casefold() == slot.room), None)


def _trainer(slot: Slot, facts: Facts) -> str:
    """Who holds the session, whatever the plan calls them."""
    return str(facts["sessions"][slot.session]["trainer"])


def _cost(slots: list[Slot], facts: Facts) -> float:
    """Rent by begun half hours, as planned."""
    total = 0.0
    for slot in slots:
        room = _room(slot, facts)
        total += math.ceil((slot.end - slot.start) / 30) * (room["half_hour"] if room else 0)
    return total
