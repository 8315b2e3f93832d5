"""Run folders with modes that have skills, with records that were written by hand."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.grade import Grade
from pytest_agentbench.phase_record import PhaseFacts
from pytest_agentbench.record import PlannedTrial, Record, ScenarioFacts
from pytest_agentbench.report.ledger import Ledger
from pytest_agentbench.report.plan import write_plan
from pytest_agentbench.skill import GivenSkill, MadeSkill, Mutation
from pytest_agentbench.status import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What one phase took; None is unknown."""

    tokens: int | None = 1000
    usd: float | None = 0.01
    seconds: float = 10.0

    @property
    def usage(self) -> Usage:
        return Usage(input_tokens=self.tokens, output_tokens=0, cost_usd=self.usd)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One trial: its score, what it took, and the phases before the graded one."""

    score: float | None
    spend: Spend = Spend()
    before: tuple[PhaseFacts, ...] = ()
    given: tuple[GivenSkill, ...] = ()
    mutation: Mutation | None = None
    loose: float = 0.0


SKILL = MadeSkill(name="helpful", files=2, bytes=900, sha256="a" * 64, quality=0.8)
GIVEN = GivenSkill(name="helpful", files=2, sha256="a" * 64, shown=True, opened=True, used=False)


def phase(name: str, spend: Spend = Spend(), **values: Any) -> PhaseFacts:
    return PhaseFacts(
        name=name,
        status=Status.COMPLETED,
        seconds=spend.seconds,
        limit=60.0,
        usage=spend.usage,
        **values,
    )


def author(spend: Spend = Spend(), *, made: tuple[MadeSkill, ...] = (SKILL,)) -> PhaseFacts:
    return phase("preskill_author", spend, role="author", graded=False, made=made)


def first(score: float | None, spend: Spend = Spend()) -> PhaseFacts:
    strict = None if score is None else score == 1.0
    return phase("postskill_first", spend, graded=False, score=score, strict=strict)


def summary(spend: Spend = Spend(), *, made: tuple[MadeSkill, ...] = (SKILL,)) -> PhaseFacts:
    return phase("postskill_summary", spend, role="summarise", graded=False, made=made)


def record(trial: PlannedTrial, made: Made) -> Record:
    last = phase(trial.mode, made.spend, given=made.given, mutation=made.mutation)
    values: dict[str, Any] = {
        "usage": made.spend.usage,
        "seconds": made.spend.seconds,
        "phases": (*made.before, last),
    }
    if made.score is None:
        return trial.end(Status.PROVIDER_ERROR, message="503", **values)
    grade = Grade(
        policy="composite",
        threshold=0.6,
        score=made.score,
        capability=made.score,
        loose=made.loose or made.score,
        strict=made.score == 1.0,
        passed=made.score >= 0.6,
    )
    return trial.end(Status.COMPLETED, grade=grade, **values)


def write_modes(
    folder: Path,
    modes: Mapping[str, Mapping[str, Sequence[float | Made]]],
    *,
    runtime: str = "demo",
    facts: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """The folder of a run: of each mode and scenario the trials, a number being their score."""
    planned, records = [], []
    for mode, scenarios in modes.items():
        for name, trials in scenarios.items():
            for index, each in enumerate(trials, 1):
                place = f"{runtime}/{mode}/{name}/{index}"
                trial = PlannedTrial(
                    key=hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest(),
                    node_id=f"{name}.yaml::{name}[{runtime}-{mode}-t{index}]",
                    scenario=ScenarioFacts(id=name, **(facts or {}).get(name, {})),
                    runtime=runtime,
                    adapter=runtime,
                    model="",
                    mode=mode,
                    index=index,
                )
                planned.append(trial)
                made = each if isinstance(each, Made) else Made(score=each)
                records.append(record(trial, made))
    write_plan(folder / "plan.json", planned)
    for each_record in records:
        Ledger(folder / "ledger.jsonl").append(each_record.to_json(), wait=False)
    return folder


DIRECT = Spend(tokens=1000, usd=0.01, seconds=10.0)
SCORES = {"a": 0.1, "b": 0.2, "c": 0.1, "d": 0.3, "e": 0.2, "f": 0.3}
#: What the skill adds differs, so that no two scenarios say the same.
ADDED = {"a": 0.6, "b": 0.5, "c": 0.7, "d": 0.4, "e": 0.6, "f": 0.5}


def baseline() -> dict[str, list[float | Made]]:
    return {name: [Made(score=score, spend=DIRECT)] * 2 for name, score in SCORES.items()}


USE = Spend(tokens=800, usd=0.012, seconds=5.0)


def preskill(spend: Spend = USE) -> dict[str, list[Made]]:
    made = Spend(tokens=2000, usd=0.03, seconds=20.0)
    return {
        name: [
            Made(
                score=score + ADDED[name],
                spend=spend,
                before=(author(made),),
                given=(GIVEN,),
                mutation=Mutation(),
            )
        ]
        * 2
        for name, score in SCORES.items()
    }


def postskill() -> dict[str, list[Made]]:
    before = (first(0.2, DIRECT), summary(Spend(tokens=500, usd=None, seconds=4.0)))
    return {name: [Made(score=0.6, spend=DIRECT, before=before)] for name in SCORES}


def control(added: float) -> dict[str, list[Made]]:
    return {name: [Made(score=score + added)] for name, score in SCORES.items()}


def every(folder: Path, name: str) -> Path:
    """A run with all that a comparison can hold; texts of agents hold ``name``."""
    odd = MadeSkill(name=name, files=1, bytes=1, sha256="b" * 64, deviations=("no name",))
    changed = Made(
        score=0.0, before=(author(made=(odd,)),), given=(GIVEN,), mutation=Mutation(added=(name,))
    )
    modes = {
        "baseline": {**baseline(), "zero": [0.0]},
        "preskill": {**preskill(), "zero": [changed]},
        "postskill": postskill(),
        "empty-skill": control(0.05),
        f"own {name}": {"zero": [Made(score=1.0, given=(GIVEN,))], "absent": [Made(score=None)]},
    }
    return write_modes(folder, modes)
