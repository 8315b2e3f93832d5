"""A frozen selector: which scenarios a suite is, and what each of them was made of."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Parts of a trial's lock that are the scenario's own; the others are the run's or the version's.
PARTS = ("scenario", "inputs", "checker", "rubric", "skills", "scripts")
VERSION = 1


class SelectorError(Exception):
    """A selector that cannot be read, or a suite that is not what it says; shown as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """A scenario: its id, its file for people, and SHA-256 of its parts. ``retired`` says why."""

    id: str
    file: str
    parts: Mapping[str, str]
    retired: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What was done to a frozen scenario: ``repair`` or ``retire``, by whose reason, when (UTC).

    ``rows`` are results that were made before it, as ``RUN: ROW``.
    """

    action: str
    id: str
    reason: str
    day: str
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    rows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """A suite that was frozen under a name."""

    name: str
    scenarios: tuple[Frozen, ...]
    history: tuple[Change, ...] = ()

    @property
    def active(self) -> Mapping[str, Frozen]:
        return {each.id: each for each in self.scenarios if not each.retired}

    def one(self, id: str) -> Frozen:  # noqa: A002 (the word for it)
        """The scenario of that id. Raises ``SelectorError``."""
        for each in self.scenarios:
            if each.id == id:
                return each
        has = _some(self.active) or "none that is not retired"
        raise SelectorError(f"{self.name} has no scenario {id!r}; it has: {has}")

    def repaired(
        self,
        now: Frozen,
        *,
        reason: str,
        day: str,
        rows: Sequence[str] = (),
    ) -> Selector:
        """With new parts of a scenario. Raises ``SelectorError`` where nothing has changed."""
        before = self.one(now.id)
        if before.retired:
            raise SelectorError(f"{now.id} is retired: {before.retired}")
        if not (parts := differing(before, now.parts)):
            raise SelectorError(f"{now.id} is as it was frozen: there is nothing to repair")
        change = Change(
            action="repair",
            id=now.id,
            reason=reason,
            day=day,
            before={part: before.parts.get(part, "") for part in parts},
            after={part: now.parts[part] for part in parts},
            rows=tuple(rows),
        )
        return self._with(now, change)

    def retired(
        self,
        id: str,  # noqa: A002
        *,
        reason: str,
        day: str,
        rows: Sequence[str] = (),
    ) -> Selector:
        """Without a scenario, which stays on record. Raises ``SelectorError``."""
        before = self.one(id)
        if before.retired:
            raise SelectorError(f"{id} is retired already: {before.retired}")
        change = Change(
            action="retire",
            id=id,
            reason=reason,
            day=day,
            before=dict(before.parts),
            rows=tuple(rows),
        )
        return self._with(dataclasses.replace(before, retired=reason), change)

    def _with(self, now: Frozen, change: Change) -> Selector:
        scenarios = tuple(now if each.id == now.id else each for each in self.scenarios)
        return dataclasses.replace(self, scenarios=scenarios, history=(*self.history, change))


def differing(frozen: Frozen, parts: Mapping[str, str]) -> list[str]:
    """The parts that are not as they were."""
    return [part for part in PARTS if parts.get(part, "") != frozen.parts.get(part, "")]


def freeze(name: str, found: Iterable[Frozen]) -> Selector:
    """Raises ``SelectorError`` for an id that there is twice, and for nothing at all."""
    scenarios: dict[str, Frozen] = {}
    for each in found:
        if each.id in scenarios:
            raise SelectorError(f"id {each.id!r} is in {scenarios[each.id].file} and {each.file}")
        scenarios[each.id] = each
    if not scenarios:
        raise SelectorError("there is no scenario to freeze")
    return Selector(name=name, scenarios=tuple(scenarios[id_] for id_ in sorted(scenarios)))


def read_selector(path: Path) -> Selector:
    """Raises ``SelectorError``."""
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise SelectorError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise SelectorError(f"{path}: no JSON: {error}") from None
    try:
        if data["agentbench_selector"] != VERSION:
            raise SelectorError(
                f"{path}: a selector of version {data['agentbench_selector']}; this version of "
                f"pytest-agentbench reads version {VERSION}"
            )
        return Selector(
            name=str(data["name"]),
            scenarios=tuple(Frozen(**each) for each in data["scenarios"]),
            history=tuple(
                Change(**{**each, "rows": tuple(each["rows"])}) for each in data["history"]
            ),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise SelectorError(
            f"{path}: no selector ({type(error).__name__}: {error}); make one with agentbench freeze"
        ) from None


def write_selector(path: Path, selector: Selector) -> None:
    """The same selector gives the same bytes. Raises ``OSError``."""
    data: dict[str, Any] = {"agentbench_selector": VERSION, **dataclasses.asdict(selector)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", "utf-8")


def check(selector: Selector, found: Mapping[str, Mapping[str, str]]) -> list[str]:
    """What of ``found`` (id to parts) is not as it was frozen, or is not there, in words."""
    problems = []
    for id_, frozen in selector.active.items():
        if id_ not in found:
            problems.append(f"{id_} ({frozen.file}) is not there")
        elif parts := differing(frozen, found[id_]):
            told = ", ".join(
                f"{part} was {frozen.parts.get(part, '')[:12]}, is {found[id_].get(part, '')[:12]}"
                for part in parts
            )
            problems.append(f"{id_} ({frozen.file}) has changed: {told}")
    return problems


def _some(names: Iterable[str], most: int = 10) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
