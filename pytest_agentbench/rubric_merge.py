"""Two reviewers' versions of one rubric become one (SkillForgeBench §3.3: expert calibration)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.scenario.rubric_file import identity

Raw = Mapping[str, Any]
#: What a resolution may say of a criterion, beside its whole text.
ANSWERS = ("a", "b", "drop")


class MergeError(Exception):
    """Files that cannot be merged; the message says why and is shown as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What two reviewers did to one criterion of the draft, or to one that a reviewer added.

    ``parts`` are what each made of it: one criterion, several after a split, none after a removal.
    ``a`` and ``b`` are words for it: kept, reworded, changed, split, removed, added, absent.
    """

    id: str
    a: str
    b: str
    parts: tuple[tuple[Raw, ...], tuple[Raw, ...]]

    @property
    def agreed(self) -> bool:
        return self.parts[0] == self.parts[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """All decisions in the order of the draft, and the criteria of the merged rubric.

    ``open`` are the ids on which the reviewers disagree and nothing was resolved.
    """

    decisions: tuple[Decision, ...]
    criteria: tuple[Raw, ...]
    resolved: Mapping[str, str] = field(default_factory=dict)
    open: tuple[str, ...] = ()

    @property
    def agreement(self) -> float:
        """The share of criteria on which both did the same."""
        agreed = sum(each.agreed for each in self.decisions)
        return agreed / len(self.decisions) if self.decisions else 1.0

    def counts(self) -> dict[str, int]:
        """How often each word was the reviewers', ``kept`` by both apart."""
        words = Counter(word for each in self.decisions for word in {each.a, each.b})
        words["kept"] = sum(each.a == each.b == "kept" for each in self.decisions)
        return {word: words[word] for word in _WORDS if words[word]}


_WORDS = ("kept", "reworded", "changed", "split", "removed", "added")


def merge(
    base: Sequence[Raw], a: Sequence[Raw], b: Sequence[Raw], resolution: Mapping[str, Any]
) -> Merge:
    """Merge what reviewers A and B made of ``base``.

    A criterion ``x`` was split by a reviewer in whose file it is missing and ``x.1``, ``x.2``, … are
    there. ``resolution`` says ``a``, ``b``, ``drop``, or the whole criterion, by id. Raises
    ``MergeError`` for a resolution of something that is not disputed.
    """
    decisions = _decisions(base, a, b)
    disputed = {each.id for each in decisions if not each.agreed}
    for name, said in resolution.items():
        if name not in disputed:
            raise MergeError(
                f"the resolution names {name}, on which the reviewers do not disagree; "
                f"disputed: {', '.join(sorted(disputed)) or 'nothing'}"
            )
        if said not in ANSWERS and not isinstance(said, dict):
            raise MergeError(
                f"the resolution of {name} must be one of {', '.join(ANSWERS)}, or the criterion "
                "written out"
            )
    criteria: list[Raw] = []
    for each in decisions:
        if each.agreed:
            criteria += each.parts[0]
        elif each.id in resolution:
            criteria += _resolved(each, resolution[each.id])
    words = {
        name: said if isinstance(said, str) else "rewritten" for name, said in resolution.items()
    }
    return Merge(
        decisions=tuple(decisions),
        criteria=tuple(criteria),
        resolved=words,
        open=tuple(each.id for each in decisions if not each.agreed and each.id not in resolution),
    )


def _decisions(base: Sequence[Raw], a: Sequence[Raw], b: Sequence[Raw]) -> list[Decision]:
    drafted = {identity(each): each for each in base}
    sides = tuple({identity(each): each for each in side} for side in (a, b))
    found = []
    used: set[str] = set()
    for name, draft in drafted.items():
        parts = tuple(_parts(name, side, drafted) for side in sides)
        used |= {identity(each) for side in parts for each in side}
        words = [_word(draft, side) for side in parts]
        found.append(Decision(id=name, a=words[0], b=words[1], parts=(parts[0], parts[1])))
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        if name not in used and name not in drafted:
            parts = tuple((side[name],) if name in side else () for side in sides)
            words = ["added" if side else "absent" for side in parts]
            found.append(Decision(id=name, a=words[0], b=words[1], parts=(parts[0], parts[1])))
    return found


def _parts(name: str, side: Mapping[str, Raw], drafted: Mapping[str, Raw]) -> tuple[Raw, ...]:
    if name in side:
        return (side[name],)
    ids = [i for i in side if i.rpartition(".")[0] == name and i not in drafted]
    return tuple(side[i] for i in ids if i.rpartition(".")[2].isdigit())


def _word(draft: Raw, parts: tuple[Raw, ...]) -> str:
    if not parts:
        return "removed"
    if identity(parts[0]) != identity(draft):
        return "split"
    if parts[0] == draft:
        return "kept"
    return "changed" if parts[0].get("statement") == draft.get("statement") else "reworded"


def _resolved(each: Decision, said: Any) -> tuple[Raw, ...]:
    if isinstance(said, dict):
        return (said,)
    return {"a": each.parts[0], "b": each.parts[1], "drop": ()}[said]


def merged(base: Raw, found: Merge, *, reviewers: tuple[str, str]) -> dict[str, Any]:
    """The merged file: the draft's own facts, the criteria, and how they came about."""
    value = {key: item for key, item in base.items() if key != "criteria"}
    used = {str(each.get("category_id")) for each in found.criteria}
    if isinstance(value.get("category_taxonomy"), list):
        kept = [each for each in value["category_taxonomy"] if each.get("category_id") in used]
        value["category_taxonomy"] = kept
    value["calibration"] = {
        "reviewers": list(reviewers),
        "criteria": len(found.decisions),
        "agreement": round(found.agreement, 4),
        "decisions": [
            {"id": each.id, "a": each.a, "b": each.b, "resolution": found.resolved.get(each.id, "agreed")}
            for each in found.decisions
            if (each.a, each.b) != ("kept", "kept")
        ],
    }  # fmt: skip
    return {**value, "criteria": [dict(each) for each in found.criteria]}
