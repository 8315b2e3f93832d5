"""Proof that a skill cannot hand over answers: its text, and the siblings that it is tried on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_agentbench.scenario.model import CheckSpec, Scenario
from pytest_agentbench.skills.contents import files
from pytest_agentbench.status import TrialFault

#: Shorter values stand in a skill by chance.
LEAST = 6
#: Parameters of checks that say where to look, and not what is to be found there.
_PLACES = frozenset(
    (
        *("path", "paths", "home", "under", "document", "plan", "summary", "type", "query"),
        *("function", "key", "column", "columns", "member", "section", "sections", "headings"),
        *("first", "then", "argv", "stdin", "by_number", "separator"),
    )
)
#: Inputs in which words of the trade are explained, which a skill may use.
_PROSE = (".md", ".txt", ".py")
#: Keys of mappings are values too where they are ids, and not names of fields.
_FIELD = re.compile(r"[a-z_]+\d*")
_READ = 1 << 20


def leaks(scenario: Scenario) -> Iterator[str]:
    """Expected values of checks that stand in a skill of the scenario; skills that cannot be read.

    Values without a digit are words: those that the prompt or an input of prose uses may be there.
    """
    told = [scenario.prompt, *_prose(scenario)]
    wanted = {
        value: check.id
        for check in reversed(scenario.checks)
        for value in expected(check)
        if len(value) >= LEAST
        and (any(map(str.isdigit, value)) or not any(value in text for text in told))
    }
    for folder in scenario.skills:
        try:
            names = list(files(folder))
        except TrialFault as fault:
            yield str(fault)
            continue
        for name in names:
            text = (folder / name).read_bytes()[:_READ].decode("utf-8", "replace")
            for value, check in sorted(wanted.items()):
                if value in text:
                    yield f"{folder.name}/{name} has {value!r}, which {check} expects"


def expected(check: CheckSpec) -> tuple[str, ...]:
    """The values that a check expects, as texts; none of a guard."""
    if check.guard or check.category == "process":
        return ()
    params = {name: value for name, value in check.params.items() if name not in _PLACES}
    return tuple(dict.fromkeys(_leaves(params.values())))


def _leaves(values: Any) -> Iterator[str]:
    for value in values:
        if isinstance(value, Mapping):
            yield from _leaves(key for key in value if not _FIELD.fullmatch(str(key)))
            yield from _leaves(value.values())
        elif isinstance(value, list | tuple):
            yield from _leaves(value)
        elif value is not None and not isinstance(value, bool):
            yield str(value).strip()


def _prose(scenario: Scenario) -> Iterator[str]:
    for entry in scenario.inputs:
        if entry.dest.endswith(_PROSE):
            yield entry.read()[:_READ].decode("utf-8", "replace")


def missing(scenario: Scenario, others: Sequence[Scenario]) -> Iterator[str]:
    """Siblings that it names and that are not among ``others``."""
    known = {other.id for other in others}
    for name in scenario.siblings:
        if name not in known:
            yield f"{name!r} is no scenario here"


def alike(scenario: Scenario, others: Sequence[Scenario]) -> Iterator[str]:
    """What a scenario has in common with its siblings among ``others``, and must not have.

    Siblings are the scenarios that it names, or else those of its family.
    """
    known = {other.id: other for other in others if other.id != scenario.id}
    if scenario.siblings:
        siblings = [known[name] for name in scenario.siblings if name in known]
    else:
        family = scenario.family
        siblings = [each for each in known.values() if family and each.family == family]
    for other in siblings:
        for what, one, two in (
            ("inputs", _inputs(scenario), _inputs(other)),
            ("solution", scenario.solution, other.solution),
            ("expected values", _answers(scenario), _answers(other)),
        ):
            if one and one == two:
                yield f"{what} are those of its sibling {other.id}: a skill would carry them over"


def _inputs(scenario: Scenario) -> dict[str, str]:
    return {entry.dest: hashlib.sha256(entry.read()).hexdigest() for entry in scenario.inputs}


def _answers(scenario: Scenario) -> list[tuple[str, ...]]:
    return [found for check in scenario.checks if (found := expected(check))]
