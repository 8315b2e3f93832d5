"""Rubrics in our own form: in a scenario at ``rubric``, or in a file beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_agentbench.scenario import keys, paths
from pytest_agentbench.scenario.checks import named_check
from pytest_agentbench.scenario.model import CheckSpec
from pytest_agentbench.scenario.rubric import (
    CRITERION_TYPES,
    KINDS,
    PENALIZE,
    SEPARATIONS,
    TOPICS,
    Contrast,
    Criterion,
    Rubric,
    Rung,
    Topic,
)
from pytest_agentbench.scenario.table import Table, refuse, unknown
from pytest_agentbench.scenario.yamlfile import kind

VERSION = 1
MAX_CRITERIA, MAX_WEIGHT = 200, 10
FILE = ("rubric", "criteria", "description", "calibration")
CRITERION = (
    *("id", "statement", "kind", "category", "weight", "must", "gatekeeper", "ladder"),
    *("look_for", "positive_evidence", "negative_anchor", "false_positives", "applies_if"),
    *("criterion_type", "polarity", "discrimination", "contrast_provenance", "check"),
)
RUNG = ("level", "statement", "negative_anchor")
DISCRIMINATION = ("with_skill_rank", "no_skill_rank", "arm_separation", "attribution")
#: Type of a check that is the scenario's, in a rubric that was read without it.
ELSEWHERE = "of the scenario"
#: Keys of a check that a criterion has in its place.
_OF_CRITERION = ("id", "points", "category", "severity", "guard")


#: Checks of the scenario by id; None where a rubric is read without its scenario.
Known = Mapping[str, CheckSpec] | None


def rubric(table: Table, places: paths.Places, known: Known) -> Rubric:
    """The rubric in ``table``. Raises ``ScenarioError``."""
    table.only(FILE[1:] if table.at else FILE)
    found = [_criterion(entry, places, known) for entry in table.tables("criteria")]
    hold_together(table, found)
    facts = {key: value for key, value in table.value.items() if key in FILE[2:]}
    return Rubric(criteria=tuple(found), path=table.document.path, facts=facts)


def hold_together(table: Table, found: list[Criterion]) -> None:
    """Refuse what is wrong with the criteria as a whole."""
    if not found or len(found) > MAX_CRITERIA:
        problem = f"must list 1 to {MAX_CRITERIA} criteria, not {len(found)}"
        raise table.refuse("criteria", problem)
    seen: set[str] = set()
    for index, each in enumerate(found):
        if each.id in seen:
            at = (*table.at, "criteria", index)
            raise refuse(table.document, at, f"{kind(each.id)} names two criteria")
        seen.add(each.id)
    gates = [each for each in found if each.gatekeeper]
    if len(gates) != 1:
        named = f"; it has {len(gates)}: {', '.join(g.id for g in gates)}" if gates else ""
        raise table.refuse("criteria", f"must have exactly one with `gatekeeper: true`{named}")
    gate = gates[0]
    at = (*table.at, "criteria", found.index(gate))
    if gate.kind != "completion":
        raise refuse(table.document, at, "is the gatekeeper; it must be about completion")
    if gate.applies_if:
        raise refuse(table.document, at, "is the gatekeeper; it always applies")


def _criterion(entry: Table, places: paths.Places, known: Known) -> Criterion:
    entry.only(CRITERION)
    identifier = named(entry, "id")
    topic, sort = topic_of(entry, "category"), entry.choice("kind", "", KINDS)
    if sort and sort != topic.kind:
        problem = f"is {kind(sort)}, and {topic.name} is a category of {topic.kind}"
        raise entry.refuse("kind", problem)
    return Criterion(
        id=identifier,
        statement=sentence(entry, "statement"),
        kind=topic.kind,
        category=topic.name,
        weight=entry.number("weight", 1.0, above=0, high=MAX_WEIGHT),
        must=entry.flag("must"),
        gatekeeper=entry.flag("gatekeeper"),
        ladder=ladder(
            entry,
            [
                (_only(rung, RUNG), rung.value.get("level"), "statement", "negative_anchor")
                for rung in entry.tables("ladder")
            ],
        ),
        look_for=entry.text("look_for"),
        positive_evidence=entry.texts("positive_evidence"),
        negative_anchor=entry.text("negative_anchor"),
        false_positives=entry.texts("false_positives"),
        applies_if=entry.text("applies_if"),
        criterion_type=entry.choice("criterion_type", "", CRITERION_TYPES),
        polarity=entry.choice("polarity", "", (PENALIZE,)),
        contrast=_contrast(entry),
        check=_check(entry, identifier, places, known),
    )


def _only(table: Table, allowed: Iterable[str]) -> Table:
    table.only(allowed)
    return table


def named(entry: Table, key: str) -> str:
    entry.need(key)
    identifier = entry.text(key)
    if not keys.IDENTIFIER.fullmatch(identifier):
        raise entry.refuse(key, f"must be letters, digits, `_`, `.`, `-`, not {kind(identifier)}")
    return identifier


def sentence(entry: Table, key: str) -> str:
    """Text that says something, in one line."""
    entry.need(key)
    text = " ".join(entry.text(key).split())
    if not text:
        raise entry.refuse(key, "must be a sentence; it is empty")
    return text


def topic_of(entry: Table, key: str) -> Topic:
    """The category at ``key``, by its name or by the title that Figure 4 gives it."""
    entry.need(key)
    written = entry.text(key)
    topic = TOPICS.get(_plain(written)) or next(
        (t for t in TOPICS.values() if _plain(t.title) == _plain(written)), None
    )
    if topic is None:
        raise unknown(entry.document, (*entry.at, key), written, tuple(TOPICS))
    return topic


def _plain(text: str) -> str:
    return "_".join(text.lower().replace("-", " ").replace("_", " ").split())


def ladder(entry: Table, rungs: list[tuple[Table, Any, str, str]]) -> tuple[Rung, ...]:
    """The rungs: each with its level as written, and its keys of the text and of the mark."""
    top = len(rungs) - 1
    if not rungs:
        return ()
    if top == 0:
        raise refuse(entry.document, rungs[0][0].at, "is the only rung; a ladder has two or more")
    made = []
    for number, (rung, level, text, mark) in enumerate(rungs):
        if isinstance(level, bool) or level != number:
            problem = f"must be level {number}: levels count from 0 without a gap"
            raise refuse(rung.document, rung.at, f"{problem}, not {kind(level)}")
        statement, negative = sentence(rung, text), rung.flag(mark)
        made.append(Rung(value=number / top, statement=statement, negative_anchor=negative))
    marked = sum(rung.negative_anchor for rung in made)
    if marked > 1:
        raise refuse(
            entry.document, rungs[0][0].at[:-1], f"has {marked} negative anchors; one may be"
        )
    return tuple(made)


def rank(entry: Table, key: str) -> int | None:
    return entry.whole(key, 0, low=0, high=100) if key in entry else None


def _contrast(entry: Table) -> Contrast:
    known = _only(entry.table("discrimination"), DISCRIMINATION)
    return Contrast(
        with_skill_rank=rank(known, "with_skill_rank"),
        no_skill_rank=rank(known, "no_skill_rank"),
        separation=known.choice("arm_separation", "not_measured", SEPARATIONS),
        attribution=known.number("attribution", 0, high=1) if "attribution" in known else None,
        provenance=entry.table("contrast_provenance").value,
    )


def _check(entry: Table, identifier: str, places: paths.Places, known: Known) -> CheckSpec | None:
    if "check" not in entry:
        return None
    if "ladder" in entry:
        raise entry.refuse("check", "gives a binary verdict; a ladder needs a judge")
    if isinstance(name := entry.value["check"], str):
        if known is None:
            return CheckSpec(id=name, type=ELSEWHERE)
        if name not in known:
            raise unknown(entry.document, (*entry.at, "check"), name, tuple(known))
        return known[name]
    if known is not None and identifier in known:
        problem = (
            f"has the name of a check of the scenario; say `check: {identifier}` if it is that"
        )
        raise entry.refuse("id", problem)
    table = entry.table("check")
    for key in _OF_CRITERION:
        if key in table.value:
            raise table.refuse(key, "belongs to no check of a criterion; the criterion has its own")
    return named_check(table, identifier, places, severity="major")
