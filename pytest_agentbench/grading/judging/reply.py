"""What is taken from a judge's answer, and what is wrong with it: pure functions.

Repairs are few, and none of them decides: a fence of code around the JSON, words before or after it,
the list without its object, a number or a verdict in quotes. Half of a JSON is never completed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.grading.judging.material import Piece
from pytest_agentbench.scenario.rubric import Criterion

_WORDS: Mapping[str, bool | None] = {"met": True, "not_met": False, "not_applicable": None}
_REASON, _QUOTES, _QUOTE = 600, 8, 400
#: Characters of a quote, blanks apart, below which it shows nothing.
_LEAST = 3


class Unusable(Exception):
    """An answer of which nothing can be used; the text says why, in a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a judge said on one criterion. ``met`` None is *does not apply*."""

    met: bool | None
    level: float | None = None
    quotes: tuple[str, ...] = ()
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "met": self.met,
            "level": self.level,
            "quotes": list(self.quotes),
            "reason": self.reason,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """Raises ``KeyError`` and ``TypeError``."""
        if data["met"] not in (True, False, None):
            raise TypeError("met is no verdict")
        quotes = tuple(map(str, data["quotes"]))
        return cls(**{**data, "quotes": quotes})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Verdicts by criterion, and for every other criterion why there is none.

    ``unsupported`` are those of the latter whose quotes were not found, or were missing.
    """

    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    unsupported: frozenset[str] = frozenset()


def read(
    text: str, nonce: str, criteria: Sequence[Criterion], material: Sequence[Piece]
) -> Reading:
    """The verdicts in ``text``. Raises ``Unusable`` where it is no answer to this question."""
    data = _json(text)
    said: Any = data
    if isinstance(data, dict):
        _check_nonce(data, nonce)
        said = data.get("verdicts")
    if not isinstance(said, list) or not isinstance(data, dict):
        raise Unusable('it has no list "verdicts" beside the nonce')
    entries: dict[str, list[Mapping[str, Any]]] = {}
    for entry in said:
        if isinstance(entry, dict) and isinstance(entry.get("criterion"), str):
            entries.setdefault(entry["criterion"], []).append(entry)
    verdicts: dict[str, Verdict] = {}
    problems: dict[str, str] = {}
    unsupported = set()
    haystack = Haystack.of(material)
    for criterion in criteria:
        try:
            verdict = _verdict(criterion, entries.get(criterion.id, []))
        except Unusable as problem:
            problems[criterion.id] = str(problem)
            continue
        if lack := haystack.problem(verdict):
            problems[criterion.id] = lack
            unsupported.add(criterion.id)
        else:
            verdicts[criterion.id] = verdict
    return Reading(verdicts=verdicts, problems=problems, unsupported=frozenset(unsupported))


def read_total(
    text: str, nonce: str, names: Sequence[str], material: Sequence[Piece]
) -> tuple[float, dict[str, float], str]:
    """Total, scores by criterion and reason of an answer to ``prompt.whole``. Raises ``Unusable``."""
    data = _json(text)
    if not isinstance(data, dict):
        raise Unusable("it is no JSON object")
    _check_nonce(data, nonce)
    scores = data.get("scores")
    if not isinstance(scores, dict):
        raise Unusable('it has no object "scores"')
    found = {name: _share(scores.get(name), f"scores.{name}") for name in names}
    total = _share(data.get("total"), "total")
    verdict = Verdict(met=total > 0, quotes=_texts(data.get("quotes")))
    if problem := Haystack.of(material).problem(verdict):
        raise Unusable(problem)
    return total, found, str(data.get("reason") or "")[:_REASON]


@dataclass(frozen=True, slots=True)
class Haystack:
    """The material, as quotes are looked for in it: white space and what is a mark aside."""

    text: str

    @classmethod
    def of(cls, material: Iterable[Piece]) -> Haystack:
        shown = (re.sub("⟦[^⟦⟧]*⟧", "\0", f"{each.name}\n{each.text}") for each in material)
        return cls("\0".join(_bare(text) for text in shown))

    def problem(self, verdict: Verdict) -> str:
        """Why the quotes do not support the verdict; empty if they do."""
        if not verdict.met:
            return ""  # what is not there cannot be quoted
        if not any(len(_bare(quote)) >= _LEAST for quote in verdict.quotes):
            return "it says met and quotes nothing that shows it"
        missing = next((quote for quote in verdict.quotes if not self.holds(quote)), None)
        return "" if missing is None else f"what it quotes is not in the material: {missing[:80]!r}"

    def holds(self, quote: str) -> bool:
        """Whether the quote is there, in one piece or in parts with an ellipsis between them.

        Material is shown as JSON: a quote that was copied with its escapes is the same quote.
        """
        for text in (quote, quote.replace("\\n", " ").replace('\\"', '"').replace("\\\\", "\\")):
            parts = [_bare(part) for part in re.split(r"…|\.{3}", text)]
            if all(part in self.text for part in parts) and any(parts):
                return True
        return False


def _bare(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _json(text: str) -> Any:
    """The JSON in ``text``, whatever words stand around it. Raises ``Unusable``."""
    if not text.strip():
        raise Unusable("it is empty")
    start = min((place for char in "{[" if (place := text.find(char)) >= 0), default=-1)
    if start < 0:
        raise Unusable("it is prose, and no JSON")
    try:
        data, _ = json.JSONDecoder(parse_constant=_no_number).raw_decode(text, start)
    except json.JSONDecodeError as error:
        half = error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg
        raise Unusable("its JSON breaks off" if half else f"it is no JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise Unusable("it is no JSON that can be read") from None
    return data


def _no_number(name: str) -> float:
    raise ValueError(name)


def _check_nonce(data: Mapping[str, Any], nonce: str) -> None:
    if data.get("nonce") != nonce:
        raise Unusable("it does not repeat the nonce of this question")


def _verdict(criterion: Criterion, entries: list[Mapping[str, Any]]) -> Verdict:
    if not entries:
        raise Unusable("it has no verdict on this criterion")
    words = {str(entry.get("verdict")).strip().lower().replace(" ", "_") for entry in entries}
    if len(words) > 1:
        raise Unusable("it has several verdicts on this criterion")
    (word,), entry = words, entries[0]
    if word not in _WORDS:
        raise Unusable(f"its verdict is {word[:40]!r}; allowed: {', '.join(_WORDS)}")
    met = _WORDS[word]
    if met is None and not criterion.applies_if:
        raise Unusable("it says not_applicable of a criterion that always applies")
    level = None
    if criterion.ladder and met is not None:
        level = _rung(criterion, entry.get("level"))
    return Verdict(
        met=met,
        level=level,
        quotes=_texts(entry.get("quotes")),
        reason=str(entry.get("reason") or "")[:_REASON],
    )


def _rung(criterion: Criterion, said: Any) -> float:
    values = [rung.value for rung in criterion.ladder]
    level = _number(said)
    near = [value for value in values if level is not None and abs(value - level) < 1e-6]
    if not near:
        allowed = ", ".join(f"{value:g}" for value in values)
        raise Unusable(f"its level is {str(said)[:20]!r}; allowed: {allowed}")
    return near[0]


def _share(said: Any, name: str) -> float:
    value = _number(said)
    if value is None or not 0 <= value <= 1:
        raise Unusable(f"its {name} is {str(said)[:20]!r}, no number from 0 to 1")
    return value


def _number(said: Any) -> float | None:
    if isinstance(said, str) and re.fullmatch(r"\s*\d+(?:\.\d+)?\s*", said):
        said = float(said)
    if isinstance(said, bool) or not isinstance(said, int | float) or not math.isfinite(said):
        return None
    return float(said)


def _texts(said: Any) -> tuple[str, ...]:
    listed = [said] if isinstance(said, str) else said
    if not isinstance(listed, list):
        return ()
    return tuple(
        each[:_QUOTE] for each in listed[:_QUOTES] if isinstance(each, str) and each.strip()
    )
