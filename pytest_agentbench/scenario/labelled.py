"""Labelled deliverables: what a judge is calibrated with, in ``ID.calibration.yaml`` beside a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.scenario.load import load
from pytest_agentbench.scenario.model import Scenario, ScenarioError
from pytest_agentbench.scenario.rubric import Criterion
from pytest_agentbench.scenario.source import SUFFIXES, read
from pytest_agentbench.scenario.table import Table
from pytest_agentbench.scenario.yamlfile import parse
from pytest_agentbench.trace.events import Event, EventKind, Tool, Trace

ENDING = ".calibration.yaml"
VERSION = 1
SORTS = ("good", "middling", "plausible", "injected")
WORDS: Mapping[str, bool | None] = {"met": True, "not_met": False, "not_applicable": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What each labeller says of one criterion, by name, and why."""

    said: Mapping[str, bool | None]
    reason: str

    @property
    def agreed(self) -> bool:
        return len(set(self.said.values())) == 1

    @property
    def met(self) -> bool | None:
        """The verdict that all of them gave; to be asked for only where they ``agreed``."""
        return next(iter(self.said.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A deliverable: ``files`` over the scenario's inputs, and a ``trace`` that ends in what was said."""

    name: str
    sort: str
    files: Mapping[str, str]
    trace: Trace
    labels: Mapping[str, Label]


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A scenario's cases, with a label on every criterion that is a judge's."""

    path: Path
    scenario: Scenario
    criteria: tuple[Criterion, ...]
    cases: tuple[Case, ...] = field(default=())


def labelled(path: Path) -> Labelled:
    """Read a file of labelled deliverables. Raises ``ScenarioError`` and ``OSError``."""
    document = parse(read(path), path)
    table = Table.of(document, document.value, ())
    table.only(("calibration", "labellers", "cases"))
    if table.whole("calibration", 0, low=0, high=99) != VERSION:
        raise table.refuse("calibration", f"must be {VERSION}, the form that this version reads")
    scenario = load(_scenario(path))
    rubric = scenario.atomic_rubric
    criteria = tuple(each for each in rubric.criteria if each.check is None) if rubric else ()
    if not criteria:
        raise ScenarioError(path, f"the scenario {scenario.id} has no criterion that is a judge's")
    names = tuple(map(str, table.items("labellers")))
    if len(names) < 2 or len(set(names)) != len(names):
        raise table.refuse("labellers", "must name two or more who labelled, each once")
    cases = tuple(_case(each, names, criteria) for each in table.tables("cases"))
    if len({case.name for case in cases}) != len(cases):
        raise table.refuse("cases", "has two cases of one name")
    return Labelled(path=path, scenario=scenario, criteria=criteria, cases=cases)


def _scenario(path: Path) -> Path:
    stem = path.name.removesuffix(ENDING)
    for suffix in SUFFIXES:
        if (found := path.with_name(stem + suffix)).is_file():
            return found
    raise ScenarioError(path, f"has no scenario {stem}.yaml beside it")


def _case(table: Table, names: tuple[str, ...], criteria: tuple[Criterion, ...]) -> Case:
    table.only(("name", "sort", "files", "did", "said", "labels"))
    files = table.table("files") if "files" in table else None
    return Case(
        name=str(table.need("name")),
        sort=table.choice("sort", SORTS[0], SORTS),
        files={name: files.text(name) for name in files.value} if files else {},
        trace=_trace(table),
        labels=_labels(table.table("labels"), names, criteria),
    )


def _trace(table: Table) -> Trace:
    events = []
    for number, entry in enumerate(table.tables("did")):
        entry.only(("call", "args", "gives", "status", "says"))
        if "says" in entry:
            events.append(Event(kind=EventKind.ASSISTANT, text=entry.text("says")))
            continue
        tool = entry.choice("call", "", tuple(Tool))
        call = str(number)
        args = entry.table("args").value if "args" in entry else {}
        events.append(Event(kind=EventKind.CALL, tool=tool, args=args, call_id=call))
        status = entry.whole("status", 200, low=100, high=599)
        gives = entry.text("gives")
        events.append(
            Event(kind=EventKind.RESULT, tool=tool, text=gives, status=status, call_id=call)
        )
    if "said" in table:
        events.append(Event(kind=EventKind.ASSISTANT, text=table.text("said")))
    return Trace(events=tuple(events))


def _labels(
    table: Table, names: tuple[str, ...], criteria: tuple[Criterion, ...]
) -> dict[str, Label]:
    table.only(each.id for each in criteria)
    found = {}
    for criterion in criteria:
        table.need(criterion.id)
        entry = table.table(criterion.id)
        entry.only((*names, "because"))
        said = {}
        for name in names:
            entry.need(name)
            said[name] = WORDS[entry.choice(name, "met", tuple(WORDS))]
        entry.need("because")
        found[criterion.id] = Label(said=said, reason=entry.text("because"))
    return found
