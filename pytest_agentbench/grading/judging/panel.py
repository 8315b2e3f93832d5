"""Several judges over one brief, and what they say together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_agentbench.execution import ModelEndpoint, Usage, total
from pytest_agentbench.grade import CriterionVerdict, Vote
from pytest_agentbench.grading.judge import JudgeError
from pytest_agentbench.grading.judging.brief import Brief
from pytest_agentbench.grading.judging.decision import Decision
from pytest_agentbench.grading.judging.family import family
from pytest_agentbench.grading.judging.material import digest
from pytest_agentbench.grading.judging.model_judge import (
    Answers,
    ModelJudge,
    Place,
    Total,
    batches,
)
from pytest_agentbench.grading.judging.reply import Verdict
from pytest_agentbench.scenario.model import ASKS_JUDGES, Scenario
from pytest_agentbench.scenario.rubric import KINDS, Criterion

if TYPE_CHECKING:
    from pytest_agentbench.gateway.client import Gateway, OpenLine

T = TypeVar("T")
#: The flag of a verdict on which as many judges say yes as no: it gives no credit.
TIED = "judges_tied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Judges that decide together: by ``vote``, one of ``jury.VOTES``.

    Binary verdicts are the majority's in both; levels and totals the median, or the mean.
    ``places`` bounds their calls that are under way at once, on the host of the gateway.
    """

    judges: tuple[ModelJudge, ...]
    gateway: Callable[[], Gateway]
    vote: str = "majority"
    places: int = 4

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(judge.name for judge in self.judges)

    @property
    def identity(self) -> str:
        """SHA-256 of all that verdicts depend on beside what is judged."""
        return digest([self.vote, *(judge.identity for judge in self.judges)])

    @staticmethod
    def wanted(scenario: Scenario) -> bool:
        """Whether a part of what is said of the scenario's trials is a judge's."""
        rubric = scenario.atomic_rubric
        judged = bool(rubric and any(rubric.judged.values()))
        return judged or scenario.hybrid is not None or ASKS_JUDGES in scenario.extra

    def decide(self, brief: Brief) -> Decision:
        """Ask every judge. Raises ``TrialFault`` for a gateway that has gone."""
        places = {
            (judge.name, kind): Place.of(judge, brief.task, brief.material.of(kind))
            for judge in self.judges
            for kind in (("whole",) if brief.prose else KINDS)
        }
        if brief.prose:
            return self._totals(brief, places)
        known = {
            judge.name: {
                name: verdict
                for kind, criteria in brief.rubric.judged.items()
                for name, verdict in judge.known(places[judge.name, kind], criteria).items()
            }
            for judge in self.judges
        }
        parts = [
            (judge, places[judge.name, kind], batch)
            for judge in self.judges
            for kind, criteria in brief.rubric.judged.items()
            for batch in batches([c for c in criteria if c.id not in known[judge.name]])
        ]
        if lacking := _mute(judge for judge, _, _ in parts):
            return Decision(lacking=lacking)

        def ask(part: int, line: ModelEndpoint) -> Answers:
            judge, place, batch = parts[part]
            return judge.verdicts(line, place, batch)

        answers, facts = self._ask([judge for judge, _, _ in parts], ask, brief)
        said = {judge.name: dict(known[judge.name]) for judge in self.judges}
        problems: dict[str, dict[str, str]] = {}
        for (judge, _, _), answer in zip(parts, answers, strict=True):
            said[judge.name].update(answer.verdicts)
            if answer.problems:
                problems.setdefault(judge.name, {}).update(answer.problems)
        decided = [
            combine(each, {name: said[name][each.id] for name in self.names}, self.vote)
            for each in brief.criteria
            if each.check is None and all(each.id in said[name] for name in self.names)
        ]
        cached = {name: len(verdicts) for name, verdicts in known.items()}
        return self._decision(facts, cached, verdicts=tuple(decided), problems=problems)

    def _totals(self, brief: Brief, places: Mapping[tuple[str, str], Place]) -> Decision:
        known = {
            judge.name: judge.known_total(places[judge.name, "whole"], brief.prose, brief.names)
            for judge in self.judges
        }
        asked = [judge for judge in self.judges if known[judge.name] is None]
        if lacking := _mute(asked):
            return Decision(lacking=lacking)

        def ask(part: int, line: ModelEndpoint) -> Total | str:
            judge = asked[part]
            try:
                return judge.total(line, places[judge.name, "whole"], brief.prose, brief.names)
            except JudgeError as error:
                return str(error)

        answers, facts = self._ask(asked, ask, brief)
        said = {judge.name: answer for judge, answer in zip(asked, answers, strict=True)}
        given = [known[name] or said[name] for name in self.names]
        totals = [each.total for each in given if isinstance(each, Total)]
        problems = {name: {"": each} for name, each in said.items() if isinstance(each, str)}
        total = None if problems else (median if self.vote == "majority" else fmean)(totals)
        cached = {name: int(each is not None) for name, each in known.items()}
        return self._decision(facts, cached, total=total, problems=problems)

    def _ask(
        self, judges: Sequence[ModelJudge], ask: Callable[[int, ModelEndpoint], T], brief: Brief
    ) -> tuple[list[T], Mapping[str, Usage]]:
        """What each part gave, in order, and what each judge used."""
        about = Scenario(id=brief.scenario, path=Path(), prompt="")
        with contextlib.ExitStack() as held:
            lines: dict[str, OpenLine] = {}
            for judge in judges:
                if judge.name not in lines:
                    opened = self.gateway().open_judge(
                        judge.profile, about, places=self.places, seconds=judge.patience.seconds
                    )
                    lines[judge.name] = held.enter_context(opened)
            # Threads end by themselves when their line does, so nobody has to wait for them.
            pool = ThreadPoolExecutor(max(1, min(len(judges), self.places)))
            try:
                asked = [
                    pool.submit(ask, part, lines[judge.name].endpoint)
                    for part, judge in enumerate(judges)
                ]
                answers = [each.result() for each in asked]
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
            return answers, {name: line.report().usage for name, line in lines.items()}

    def _decision(
        self, usage: Mapping[str, Usage], cached: Mapping[str, int], **values: Any
    ) -> Decision:
        facts = tuple(
            {
                "name": judge.name,
                "model": judge.model,
                "family": family(judge.model),
                "identity": judge.identity,
                "cached": cached.get(judge.name, 0),
                "usage": usage.get(judge.name),
            }
            for judge in self.judges
        )
        return Decision(judges=facts, usage=total(list(usage.values())), **values)


def _mute(judges: Iterable[ModelJudge]) -> str:
    """Which of them cannot be asked, and why; "" if all can."""
    told = (f"judge {judge.name} has no verdict: {judge.mute}" for judge in judges if judge.mute)
    return "; ".join(dict.fromkeys(told))


def combine(
    criterion: Criterion, verdicts: Mapping[str, Verdict], vote: str = "majority"
) -> CriterionVerdict:
    """One verdict out of those of several judges, by name.

    It does not apply if more than half of them say so; a tie between the others gives no credit.
    """
    votes = list(verdicts.values())
    if len(votes) == 1:
        one = votes[0]
        return CriterionVerdict.of(
            criterion, one.met, one.level, quotes=one.quotes, reason=one.reason
        )
    applying = [each for each in votes if each.met is not None]
    yes = sum(each.met is True for each in applying)
    met: bool | None = yes * 2 > len(applying)
    tied = bool(applying) and yes * 2 == len(applying)
    if tied:
        met = criterion.penalized
    if (len(votes) - len(applying)) * 2 > len(votes):
        met, tied = None, False
    deciding = next((each for each in votes if each.met is met), votes[0])
    found = CriterionVerdict.of(
        criterion,
        met,
        quotes=deciding.quotes,
        reason=deciding.reason,
        judges=tuple(_votes(criterion, verdicts)),
        flags=(TIED,) if tied else (),
    )
    if met is None or not (criterion.ladder or vote == "mean"):
        return found
    levels = [each.level for each in found.judges if each.met is not None]
    return replace(found, level=(fmean if vote == "mean" else median)(levels))


def _votes(criterion: Criterion, verdicts: Mapping[str, Verdict]) -> Iterator[Vote]:
    for name, verdict in verdicts.items():
        level = CriterionVerdict.of(criterion, verdict.met, verdict.level).level
        yield Vote(
            judge=name,
            met=verdict.met,
            level=level,
            quotes=verdict.quotes,
            reason=verdict.reason,
        )
