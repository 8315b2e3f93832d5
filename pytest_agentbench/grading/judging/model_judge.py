"""A judge that is a model: asked through the gateway until it gives verdicts that can be used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pytest_agentbench.execution import ModelEndpoint
from pytest_agentbench.grading.judge import JudgeError
from pytest_agentbench.grading.judging import prompt, reply
from pytest_agentbench.grading.judging.cache import Cache
from pytest_agentbench.grading.judging.material import Piece, digest
from pytest_agentbench.grading.judging.reply import Unusable, Verdict
from pytest_agentbench.grading.judging.speaking import Patience, Refused, say
from pytest_agentbench.grading.judging.wire import CHAT, WIRES, Said, Wire
from pytest_agentbench.plain import plain
from pytest_agentbench.scenario.rubric import Criterion
from pytest_agentbench.trial import ModelProfile

#: Criteria that one call asks for.
BATCH = 8
#: What an answer that breaks off is given in place of the usual length.
_LONGER = 4
_NOTE = "(question {number}) An earlier answer could not be used: {reason}"
_FORM = "it was not JSON of the form that is asked for, complete, with one verdict a criterion."
_QUOTES = "a verdict of met had no quote, or one that is not in the material word for word."

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What came of asking: verdicts, and for criteria without one the reason."""

    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """One score by a rubric in prose, and what it is made of."""

    total: float
    scores: Mapping[str, float]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Task and material that verdicts are about; ``hash`` is of both, and of who judges."""

    task: str
    material: tuple[Piece, ...]
    hash: str

    @classmethod
    def of(cls, judge: ModelJudge, task: str, material: tuple[Piece, ...]) -> Place:
        found = digest([judge.identity, task, plain(material)])
        return cls(task=task, material=material, hash=found)

    def key(self, criterion: Criterion) -> str:
        """That of the verdict on ``criterion`` in a cache."""
        return digest([self.hash, prompt.shown(criterion)])


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelJudge:
    """The model of a profile as a judge. ``mute`` says why it cannot be asked, "" if it can."""

    profile: ModelProfile
    patience: Patience = field(default_factory=Patience)
    cache: Cache | None = None
    mute: str = ""

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def model(self) -> str:
        """The provider's name of the model."""
        return str(self.profile.options.get("model", self.profile.name))

    @property
    def identity(self) -> str:
        """SHA-256 of what its verdicts depend on: the profile, and how it is asked."""
        return digest([self.profile.lock, self.profile.name, prompt.VERSION])

    @property
    def wire(self) -> Wire:
        return WIRES.get(str(self.profile.options.get("provider", "")), CHAT)

    def known(self, place: Place, criteria: Sequence[Criterion]) -> dict[str, Verdict]:
        """Verdicts that were given before."""
        if self.cache is None:
            return {}
        found: dict[str, Verdict] = {}
        for each in criteria:
            with contextlib.suppress(KeyError, TypeError):  # of another version
                if entry := self.cache.get(place.key(each)):
                    found[each.id] = Verdict.from_json(entry)
        return found

    def verdicts(self, line: ModelEndpoint, place: Place, criteria: Sequence[Criterion]) -> Answers:
        """Ask for verdicts on ``criteria``, which are of one kind; no more than ``BATCH``."""
        found: dict[str, Verdict] = {}
        problems: dict[str, str] = {}
        final: set[str] = set()
        unsupported: dict[str, int] = {}

        def put(note: str) -> prompt.Ask:
            return prompt.atomic(place.task, wanted(), place.material, note=note)

        def wanted() -> list[Criterion]:
            return [each for each in criteria if each.id not in found and each.id not in final]

        def take(text: str, nonce: str) -> str:
            reading = reply.read(text, nonce, wanted(), place.material)
            found.update(reading.verdicts)
            problems.update(reading.problems)
            for name in reading.unsupported:
                unsupported[name] = unsupported.get(name, 0) + 1
                if unsupported[name] >= self.patience.unsupported:
                    final.add(name)
            return "" if not wanted() else _QUOTES if reading.unsupported else _FORM

        problem = self._until(line, put, take)
        for each in criteria:
            if each.id in found and self.cache is not None:
                self.cache.put(place.key(each), found[each.id].to_json())
        missing = (each.id for each in criteria if each.id not in found)
        return Answers(
            verdicts=found, problems={name: problems.get(name) or problem for name in missing}
        )

    def known_total(self, place: Place, rubric: str, names: Sequence[str]) -> Total | None:
        """A score that was given before."""
        entry = self.cache.get(_total_key(place, rubric, names)) if self.cache else None
        with contextlib.suppress(TypeError):  # of another version
            return Total(**entry) if entry is not None else None
        return None

    def total(self, line: ModelEndpoint, place: Place, rubric: str, names: Sequence[str]) -> Total:
        """Ask for one score by a rubric in prose. Raises ``JudgeError``."""
        given: list[Total] = []

        def put(note: str) -> prompt.Ask:
            return prompt.whole(place.task, rubric, names, place.material, note=note)

        def take(text: str, nonce: str) -> str:
            total, scores, reason = reply.read_total(text, nonce, names, place.material)
            given.append(Total(total=total, scores=scores, reason=reason))
            return ""

        problem = self._until(line, put, take)
        if not given:
            raise JudgeError(problem)
        if self.cache is not None:
            self.cache.put(_total_key(place, rubric, names), plain(given[0]))
        return given[0]

    def _until(
        self,
        line: ModelEndpoint,
        put: Callable[[str], prompt.Ask],
        take: Callable[[str, str], str],
    ) -> str:
        """Ask, each time in a conversation of its own, until nothing is wanting; else what is.

        ``put`` makes a question from a note on what was wrong; ``take`` says in words for the judge
        what is still wanting, and raises ``Unusable``.
        """
        note = problem = ""
        longer = 1
        for number in range(1, self.patience.asked + 1):
            asked = put(note)
            length = asked.prompt.max_tokens * longer
            try:
                said = say(line, self.wire, replace(asked.prompt, max_tokens=length), self.patience)
                longer = _LONGER if said.cut else longer
                reason = take(self._whole(said), asked.nonce)
                if not reason:
                    return ""
                problem = "its answer is not complete"
            except Unusable as error:
                problem, reason = f"its answer cannot be used: {error}", _FORM
                longer = _LONGER if "breaks off" in str(error) else longer
            except Refused as error:
                problem, reason = f"it refuses: {error}", _FORM
            except JudgeError as error:
                return str(error)
            note = " " + _NOTE.format(number=number + 1, reason=reason)
        return f"{problem} (asked {self.patience.asked} times)"

    @staticmethod
    def _whole(said: Said) -> str:
        if said.cut:
            raise Unusable("its JSON breaks off at the longest answer that is allowed")
        return said.text


def _total_key(place: Place, rubric: str, names: Sequence[str]) -> str:
    return digest([place.hash, rubric, list(names)])


def batches(criteria: Sequence[T]) -> Iterator[Sequence[T]]:
    """Parts of at most ``BATCH``, as even as they can be."""
    count = -(-len(criteria) // BATCH)
    for number in range(count):
        yield criteria[number * len(criteria) // count : (number + 1) * len(criteria) // count]
