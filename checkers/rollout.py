"""Is a plan that moves services at night one that the runbook allows?

Every function judges one rule over the plan at ``plan``, so that any plan that keeps all of them
is right. ``facts`` holds what is true: ``services``, ``regions``, ``engineers``, ``freezes`` and
the limits of the runbook. A plan that places fewer than three quarters of the services keeps no
rule. Moments are UTC; a night runs from noon to noon UTC and has the date on which it begins.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import combinations, pairwise
from math import ceil
from pathlib import Path
from typing import Any

Facts = Mapping[str, Any]
Answer = tuple[bool, str]
#: Bytes of a plan that anybody would write by hand or script, many times over.
_LIMIT = 100_000
_HALF_DAY = timedelta(hours=12)


@dataclass(frozen=True)
class Move:
    """One service's move as the plan has it; ``second`` is empty where there is none."""

    service: str
    start: datetime
    end: datetime
    lead: str
    second: str

    @property
    def night(self) -> date:
        return (self.start - _HALF_DAY).date()

    @property
    def people(self) -> set[str]:
        return {self.lead, self.second} - {""}


def complete(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """Every service moves once, and nothing else does."""
    names = [move.service for move in _moves(workspace, plan)]
    wanted = sorted(facts["services"])
    return sorted(names) == wanted, f"moves {sorted(names)}, not {wanted}"


def durations(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """As long as the last good rehearsal, or longer by a share where that is long ago."""
    return _each(
        workspace,
        plan,
        facts,
        "has another duration",
        lambda move: move.end - move.start == _duration(move, facts),
    )


def windows(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """Inside the window of the region, with the time to roll back after the end."""
    return _each(workspace, plan, facts, "leaves its window", lambda move: _fits(move, facts))


def freezes(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """On no closed weekday, and in no freeze that is for the service."""
    return _each(workspace, plan, facts, "is frozen then", lambda move: not _frozen(move, facts))


def dates(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """Not before a service's first night, and all over by the deadline."""
    deadline = _moment(facts["deadline"])

    def in_time(move: Move) -> bool:
        first = facts["services"][move.service].get("not_before", "0001-01-01")
        return move.end <= deadline and move.night >= date.fromisoformat(first)

    return _each(workspace, plan, facts, "is too early or too late", in_time)


def dependencies(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """What a service needs has moved, and has run for its soak time."""
    moves = {move.service: move for move in _placed(workspace, plan, facts)}

    def soaked(move: Move) -> bool:
        needed = [moves[name] for name in _needs(move, facts) if name in moves]
        return all(move.start - other.end >= _soak(other, facts) for other in needed)

    return _each(workspace, plan, facts, "comes too early after what it needs", soaked)


def tier_one(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """At most one service of tier 1 a calendar week, Monday to Sunday."""
    moves = _placed(workspace, plan, facts)
    weeks = Counter(_week(move) for move in moves if _service(move, facts)["tier"] == 1)
    full = [f"{year}-W{week:02}" for (year, week), count in weeks.items() if count > 1]
    return bool(moves) and not full, f"more than one service of tier 1 in {', '.join(full)}"


def parallel(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """Neither more moves a night nor more traffic at once than is allowed."""
    moves = _placed(workspace, plan, facts)
    nights = Counter(move.night for move in moves)
    for move in moves:
        if nights[move.night] > facts["moves_a_night"]:
            return False, f"{nights[move.night]} moves in the night of {move.night}"
        at_once = [other for other in moves if other.start <= move.start < other.end]
        if sum(_service(other, facts)["link"] for other in at_once) > facts["link"]:
            return False, f"too much traffic when {move.service} starts"
    return bool(moves), "there is no plan"


def leads(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """The lead has the skill that the service asks for."""

    def skilled(move: Move) -> bool:
        return (
            _service(move, facts)["skill"]
            in facts["engineers"].get(move.lead, {"skills": ()})["skills"]
        )

    return _each(workspace, plan, facts, "has no lead with its skill", skilled)


def seconds(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """In tier 1 a second engineer stands by, who has led a move that ended before."""
    moves = _placed(workspace, plan, facts)

    def stands_by(move: Move) -> bool:
        if _service(move, facts)["tier"] != 1:
            return True
        led = any(other.lead == move.second and other.end <= move.start for other in moves)
        return move.second in facts["engineers"] and move.second != move.lead and led

    return _each(workspace, plan, facts, "has no second engineer who has led before", stands_by)


def leave(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """Nobody works in a night on which they are away; both dates of a leave count."""

    def present(move: Move) -> bool:
        periods = [
            period
            for name in move.people
            for period in facts["engineers"].get(name, {"leave": ()})["leave"]
        ]
        return not any(_within(move.night, *period) for period in periods)

    return _each(workspace, plan, facts, "needs somebody who is away", present)


def workload(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """One move a night for each engineer, never two nights running, so many nights a week."""
    moves = _placed(workspace, plan, facts)
    for a, b in combinations(moves, 2):
        if a.people & b.people and abs((a.night - b.night).days) <= 1:
            return False, f"{a.service} and {b.service} leave somebody no rest"
    weeks = Counter((name, _week(move)) for move in moves for name in sorted(move.people))
    for (name, _), count in weeks.items():
        if count > facts["engineers"].get(name, {"nights": 0})["nights"]:
            return False, f"{name} has {count} nights in one week"
    return bool(moves), "there is no plan"


def stated(workspace: Path, trace: object, *, plan: str, facts: Facts, summary: str) -> Answer:
    """The summary gives the plan's last end, and the nights of everybody who works."""
    moves = _placed(workspace, plan, facts)
    if not moves:
        return False, "there is no plan"
    nights = Counter(name for move in moves for name in sorted(move.people))
    last = max(move.end for move in moves)
    try:
        told = json.loads(_text(workspace, summary))
        people = {str(k).casefold(): v for k, v in told["nights"].items() if v != 0}
        right = _moment(told["last_end"]) == last and people == nights
    except (ArithmeticError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False, f"{summary} has not what was asked for"
    return right, f"the plan ends at {last:%Y-%m-%dT%H:%MZ}, with nights {dict(nights)}"


def in_order(workspace: Path, trace: object, *, plan: str, facts: Facts) -> Answer:
    """The moves are listed in the order in which they start."""
    moves = _placed(workspace, plan, facts)
    late = [b.service for a, b in pairwise(moves) if a.start > b.start]
    return bool(moves) and not late, f"listed too late: {', '.join(late)}"


def _moves(workspace: Path, plan: str) -> list[Move]:
    """The rows of the plan; none if one of them cannot be read."""
    moves = []
    try:
        for row in csv.DictReader(_text(workspace, plan).splitlines()):
            cell = {str(k).strip().casefold(): str(v or "").strip() for k, v in row.items()}
            moves.append(
                Move(
                    service=cell["service"].casefold(),
                    start=_moment(cell["start_utc"]),
                    end=_moment(cell["end_utc"]),
                    lead=cell["lead"].casefold(),
                    second="" if cell["second"] in ("-", "none") else cell["second"].casefold(),
                )
            )
    except (KeyError, ValueError, OverflowError, csv.Error):
        return []
    return moves


def _text(workspace: Path, name: str) -> str:
    """The text of a regular file of moderate size inside the workspace, or nothing."""
    path = (workspace / name).resolve()
    inside = path.is_relative_to(workspace.resolve()) and path.is_file()
    if not inside or path.stat().st_size > _LIMIT:
        return ""
    return path.read_text("utf-8-sig", "replace")


def _moment(text: str) -> datetime:
    """ISO 8601; UTC unless it says otherwise."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _placed(workspace: Path, plan: str, facts: Facts) -> list[Move]:
    """The known services of the plan, if it is a plan at all."""
    moves = [move for move in _moves(workspace, plan) if move.service in facts["services"]]
    enough = len({move.service for move in moves}) * 4 >= len(facts["services"]) * 3
    sane = all(
        move.start.year > 2000 and move.start < move.end and move.end.year < 3000 for move in moves
    )
    return moves if enough and sane else []


def _each(
    workspace: Path, plan: str, facts: Facts, problem: str, rule: Callable[[Move], bool]
) -> Answer:
    moves = _placed(workspace, plan, facts)
    bad = [move.service for move in moves if not rule(move)]
    return bool(moves) and not bad, f"{', '.join(bad)} {problem}" if moves else "there is no plan"


def _service(move: Move, facts: Facts) -> Mapping[str, Any]:
    service: Mapping[str, Any] = facts["services"][move.service]
    return service


def _needs(move: Move, facts: Facts) -> list[str]:
    return list(_service(move, facts)["needs"])


def _week(move: Move) -> tuple[int, int]:
    return move.night.isocalendar()[:2]


def _duration(move: Move, facts: Facts) -> timedelta:
    """Whole quarters of an hour."""
    service = _service(move, facts)
    age = (move.night - date.fromisoformat(service["rehearsed"])).days
    factor = 1 + facts["stale_share"] if age > facts["stale_days"] else 1
    return timedelta(minutes=15 * ceil(round(service["hours"] * factor * 4, 6)))


def _fits(move: Move, facts: Facts) -> bool:
    region = facts["regions"][_service(move, facts)["region"]]
    offset = timedelta(hours=region["utc_offset"])
    reserve = (move.end - move.start) * facts["reserve_share"]
    local = move.start + offset
    opening = datetime.combine((local - _HALF_DAY).date(), datetime.min.time(), UTC)
    opens = opening + timedelta(hours=region["opens"])
    closes = opening + timedelta(hours=24 + region["closes"])
    return opens <= local and move.end + reserve + offset <= closes


def _frozen(move: Move, facts: Facts) -> bool:
    service = _service(move, facts)
    scopes = ("all", f"tier {service['tier']}", service["region"])
    if move.night.isoweekday() in facts["closed_weekdays"]:
        return True
    return any(
        scope in scopes and _within(move.night, *period) for scope, *period in facts["freezes"]
    )


def _soak(move: Move, facts: Facts) -> timedelta:
    return timedelta(hours=facts["soak_tier_1" if _service(move, facts)["tier"] == 1 else "soak"])


def _within(night: date, first: str, last: str) -> bool:
    return date.fromisoformat(first) <= night <= date.fromisoformat(last)
