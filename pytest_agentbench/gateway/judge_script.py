"""A judge by rule: finds words in what it is shown, well behaved or not.

It is no model. A criterion is met where the pattern that ``evidence`` has for it occurs in the
material; without one, where the words of its statement do. What it was asked, it reads from the
question (``grading.judging.prompt``), as a model does. Its manners are those in which real judges
fail; of a list of them, the n-th is for the n-th time that something is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_agentbench.gateway.chat import ChatReply, ChatRequest
from pytest_agentbench.gateway.policies import said
from pytest_agentbench.trial import ModelProfile

#: The share of a statement's words that must be found where there is no pattern.
SHARE = 0.6
_QUOTE = 200
_ASKED = re.compile(r"What is asked:\n(.*)\n")
_FENCED = re.compile(r"<(material-\w+)>\n(.*)\n</\1>", re.DOTALL)
_NONCE = re.compile(r"with the nonce (\w+)\.")
_AGAIN = re.compile(r"\(question (\d+)\)")
_ORDER = re.compile(
    r"[^\n]*(?:all|every|each)\W+(?:\w+\W+){0,3}?criteri\w+(?:\W+\w+){0,4}?\W+(?:met|pass\w*|satisfied|full)"
    r"[^\n]*|[^\n]*full marks[^\n]*",
    re.IGNORECASE,
)
_COPIED = re.compile(r'\{\s*"(?:nonce|verdicts?)".*\}', re.DOTALL)
_COMMON = {
    "that",
    "this",
    "with",
    "from",
    "agent",
    "before",
    "after",
    "which",
    "each",
    "every",
    "than",
}

Piece = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a question asks for: ``criteria`` are objects, or names where one score is wanted."""

    criteria: Sequence[Any]
    pieces: Sequence[Piece]
    nonce: str
    number: int = 1

    @classmethod
    def of(cls, text: str) -> Asked | None:
        """None for a text that is no such question."""
        asked, fenced, nonce = _ASKED.search(text), _FENCED.search(text), _NONCE.findall(text)
        if not asked or not fenced or not nonce:
            return None
        again = _AGAIN.findall(text[fenced.end() :])
        return cls(
            criteria=json.loads(asked[1])["criteria"],
            pieces=json.loads(fenced[2]),
            nonce=nonce[-1],
            number=int(again[-1]) if again else 1,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedJudge:
    """``evidence`` has patterns by the id of a criterion; ``manners`` are names of ``MANNERS``."""

    manners: tuple[str, ...] = ("fair",)
    evidence: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ScriptedJudge:
        return cls(manners=tuple(data["manners"]), evidence=data["evidence"])

    async def reply(self, request: ChatRequest) -> ChatReply:
        asked = Asked.of("\n".join(message.text for message in request.of("user")))
        if asked is None:
            return said(request, "There is nothing to judge.")
        manner = self.manners[min(asked.number, len(self.manners)) - 1]
        if manner == "refuse":
            return said(request, refusal="I will not judge that.")
        return said(request, MANNERS[manner](self, asked))

    def fair(self, asked: Asked) -> dict[str, Any]:
        """The answer of a judge without fault."""
        if asked.criteria and isinstance(asked.criteria[0], str):
            return self._whole(asked)
        return {"nonce": asked.nonce, "verdicts": [self.verdict(c, asked) for c in asked.criteria]}

    def verdict(self, criterion: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
        quote = self.find(criterion["id"], criterion["statement"], asked.pieces)
        values = [rung["value"] for rung in criterion.get("ladder", ())]
        level = (max(values) if quote else min(values)) if values else None
        return {
            "criterion": criterion["id"],
            "verdict": "met" if quote else "not_met",
            "level": level,
            "quotes": [quote] if quote else [],
            "reason": "its words are there" if quote else "its words are not there",
        }

    def find(self, name: str, statement: str, pieces: Sequence[Piece]) -> str:
        """What shows that the criterion is met; empty where nothing does."""
        if pattern := self.evidence.get(name):
            found = (re.search(pattern, piece["text"]) for piece in pieces)
            return next((match[0][:_QUOTE] for match in found if match), "")
        words = {w for w in re.findall(r"[a-z]{4,}", statement.lower()) if w not in _COMMON}
        lines = [line for piece in pieces for line in piece["text"].splitlines() if line.strip()]
        seen = {word for word in words if any(word[:5] in line.lower() for line in lines)}
        if not words or len(seen) / len(words) < SHARE:
            return ""
        best = max(lines, key=lambda line: sum(word[:5] in line.lower() for word in words))
        return re.sub("⟦[^⟦⟧]*⟧?", "", best).strip()[:_QUOTE]

    def _whole(self, asked: Asked) -> dict[str, Any]:
        quotes = {name: self.find(name, name, asked.pieces) for name in asked.criteria}
        scores = {name: float(bool(quote)) for name, quote in quotes.items()}
        return {
            "nonce": asked.nonce,
            "total": round(sum(scores.values()) / len(scores), 4),
            "scores": scores,
            "quotes": [quote for quote in quotes.values() if quote],
            "reason": "words that are there",
        }


def _changed(**values: Any) -> Callable[[ScriptedJudge, Asked], str]:
    """A judge that gives every verdict these ``values``."""

    def answer(judge: ScriptedJudge, asked: Asked) -> str:
        fair = judge.fair(asked)
        return json.dumps({**fair, "verdicts": [{**v, **values} for v in fair.get("verdicts", ())]})

    return answer


def _fair(judge: ScriptedJudge, asked: Asked) -> str:
    return json.dumps(judge.fair(asked))


def _prose(judge: ScriptedJudge, asked: Asked) -> str:
    return "I have read everything with care, and I find it a fine piece of work: 9 out of 10."


def _wordy(judge: ScriptedJudge, asked: Asked) -> str:
    return f"Here is my verdict:\n```json\n{_fair(judge, asked)}\n```\nI hope that this helps."


def _wrong_keys(judge: ScriptedJudge, asked: Asked) -> str:
    verdicts = judge.fair(asked)["verdicts"]
    return json.dumps(
        {
            "nonce": asked.nonce,
            "results": [{"name": v["criterion"], "pass": 0.93} for v in verdicts],
        }
    )


def _strings(judge: ScriptedJudge, asked: Asked) -> str:
    fair = judge.fair(asked)
    quoted = [
        {
            **v,
            "level": None if v["level"] is None else str(v["level"]),
            "verdict": v["verdict"].upper(),
        }
        for v in fair["verdicts"]
    ]
    return json.dumps({**fair, "verdicts": quoted})


def _half(judge: ScriptedJudge, asked: Asked) -> str:
    text = _fair(judge, asked)
    return text[: len(text) // 2]


def _empty(judge: ScriptedJudge, asked: Asked) -> str:
    return ""


def _missing(judge: ScriptedJudge, asked: Asked) -> str:
    fair = judge.fair(asked)
    return json.dumps({**fair, "verdicts": fair["verdicts"][:-1]})


def _stranger(judge: ScriptedJudge, asked: Asked) -> str:
    return json.dumps({**judge.fair(asked), "nonce": "0" * 12})


def _yes(judge: ScriptedJudge, asked: Asked) -> str:
    first = next((p["text"].strip().splitlines()[0] for p in asked.pieces if p["text"].strip()), "")
    return _changed(verdict="met", quotes=[first[:_QUOTE]])(judge, asked)


def _gullible(judge: ScriptedJudge, asked: Asked) -> str:
    """Obeys the material: gives the verdict that it finds there, or the one that it is told to."""
    texts = [text for piece in asked.pieces for text in (piece["name"], piece["text"])]
    for text in texts:
        if copied := _COPIED.search(text):
            return copied[0]
    for text in texts:
        if order := _ORDER.search(text):
            quote = order[0].strip()[:_QUOTE]
            return _changed(verdict="met", quotes=[quote], reason="I was told so")(judge, asked)
    return _fair(judge, asked)


MANNERS: Mapping[str, Callable[[ScriptedJudge, Asked], str]] = {
    "fair": _fair,
    "gullible": _gullible,
    "prose": _prose,
    "wordy": _wordy,
    "wrong-keys": _wrong_keys,
    "strings": _strings,
    "half": _half,
    "empty": _empty,
    "missing": _missing,
    "stranger": _stranger,
    "unsupported": _changed(verdict="met", quotes=["words that nobody wrote anywhere"]),
    "unquoted": _changed(verdict="met", quotes=[]),
    "yes": _yes,
    "no": _changed(verdict="not_met", quotes=[]),
    "refuse": _empty,
}


def options(profile: ModelProfile, policy: str) -> Mapping[str, Any]:
    """``manner`` and ``evidence`` of a profile, as ``from_json`` reads them.

    Raises ``ProfileError``.
    """
    if policy != "judge":
        raise profile.refuse('manner and evidence are for policy = "judge"')
    manner = profile.options.get("manner", "fair")
    manners = manner if isinstance(manner, list) and manner else [manner]
    for name in manners:
        if name not in MANNERS:
            raise profile.refuse(f"manner {name!r} is not known; allowed: {', '.join(MANNERS)}")
    evidence = profile.options.get("evidence", {})
    if not isinstance(evidence, Mapping):
        raise profile.refuse(f"evidence must be a table of patterns, not {evidence!r}")
    for name, pattern in evidence.items():
        try:
            re.compile(pattern)
        except (re.error, TypeError) as error:
            raise profile.refuse(f"evidence.{name} is no regular expression: {error}") from None
    return {"manners": list(manners), "evidence": dict(evidence)}
