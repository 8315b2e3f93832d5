"""How far judges agree on the same trials: of one run that several judged, or of a run and its regrade."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from pytest_agentbench.grade import CriterionVerdict, RubricGrade, Vote
from pytest_agentbench.record import Record
from pytest_agentbench.report.reader import open_run
from pytest_agentbench.scoring.agreement import Agreement, Nearness, agreement, nearness

_WORDS = {True: "met", False: "not_met", None: "not_applicable"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """A trial on which two judges' scores differ, and the criteria that they differ on."""

    trial: str
    judges: tuple[str, str]
    scores: tuple[float, float]
    criteria: tuple[str, ...]

    @property
    def delta(self) -> float:
        return abs(self.scores[0] - self.scores[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Concord:
    """Agreement over all verdicts and by criterion, ``nearness`` of the scores by pair of judges.

    A judge's score of a trial is the mean of its binary verdicts there. ``apart`` has the largest
    deltas first.
    """

    judges: tuple[str, ...]
    overall: Agreement
    criteria: Mapping[str, Agreement] = field(default_factory=dict)
    nearness: Mapping[tuple[str, str], Nearness] = field(default_factory=dict)
    apart: tuple[Apart, ...] = ()


def concord(runs: Sequence[Path]) -> Concord:
    """Over the trials of ``runs``. Raises ``RunError`` and ``NotInstalled``."""
    said: dict[str, dict[str, dict[str, bool | None]]] = {}
    scores: dict[str, dict[str, list[float]]] = {}
    for folder in runs:
        tag = f" ({folder.name})" if len(runs) > 1 else ""
        with open_run(folder) as run:
            for trial, record in run.pairs():
                name = "/".join(map(str, trial.identity))
                for judge, verdict, vote in _votes(record):
                    rater = f"{judge}{tag}"
                    said.setdefault(name, {}).setdefault(verdict.id, {})[rater] = vote.met
                    if vote.met is not None:
                        credit = float(vote.met is not verdict.penalized)
                        scores.setdefault(name, {}).setdefault(rater, []).append(credit)
    items = [
        (f"{trial.partition('/')[0]}/{criterion}", votes)
        for trial, criteria in said.items()
        for criterion, votes in criteria.items()
    ]
    means = {
        trial: {rater: sum(given) / len(given) for rater, given in by.items()}
        for trial, by in scores.items()
    }
    judges = tuple(dict.fromkeys(rater for _, votes in items for rater in votes))
    pairs = list(combinations(judges, 2))
    return Concord(
        judges=judges,
        overall=agreement([_worded(votes) for _, votes in items]),
        criteria={
            name: agreement([_worded(votes) for other, votes in items if other == name])
            for name in dict.fromkeys(name for name, _ in items)
        },
        nearness={
            (a, b): nearness(
                [(each[a], each[b]) for each in means.values() if a in each and b in each]
            )
            for a, b in pairs
        },
        apart=tuple(sorted(_apart(means, said, pairs), key=lambda each: (-each.delta, each.trial))),
    )


def _votes(record: Record | None) -> Iterator[tuple[str, CriterionVerdict, Vote]]:
    """Each judge's verdict on each criterion that judges decided."""
    rubric: RubricGrade | None = record.grade.rubric if record and record.grade else None
    for verdict in rubric.verdicts if rubric else ():
        if verdict.source != "judge":
            continue
        for vote in verdict.judges:
            yield vote.judge, verdict, vote
        if not verdict.judges and rubric and rubric.judges:
            alone = Vote(judge=rubric.judges[0], met=verdict.met, level=verdict.level)
            yield alone.judge, verdict, alone


def _worded(votes: Mapping[str, bool | None]) -> dict[str, str]:
    return {rater: _WORDS[met] for rater, met in votes.items()}


def _apart(
    means: Mapping[str, Mapping[str, float]],
    said: Mapping[str, Mapping[str, Mapping[str, bool | None]]],
    pairs: Sequence[tuple[str, str]],
) -> Iterator[Apart]:
    for trial, by in means.items():
        for a, b in pairs:
            if a not in by or b not in by or by[a] == by[b]:
                continue
            differ = [
                name
                for name, votes in said[trial].items()
                if a in votes and b in votes and votes[a] is not votes[b]
            ]
            yield Apart(trial=trial, judges=(a, b), scores=(by[a], by[b]), criteria=tuple(differ))
