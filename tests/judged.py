"""Briefs and panels, made for tests of judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_agentbench.gateway.client import Gateway
from pytest_agentbench.grading.judging.brief import Brief
from pytest_agentbench.grading.judging.decision import Decision
from pytest_agentbench.grading.judging.material import Material, Piece
from pytest_agentbench.grading.judging.model_judge import ModelJudge
from pytest_agentbench.grading.judging.panel import Panel
from pytest_agentbench.grading.judging.speaking import Patience
from pytest_agentbench.scenario.rubric import Criterion
from pytest_agentbench.trial import ModelProfile

QUICK = Patience(pause=0.01, seconds=20)
REPORT = "The pump failed because its seal wore out.\nPressure fell from 6 bar to 2 bar."


def criterion(id: str, statement: str = "", **values: Any) -> Criterion:  # noqa: A002
    given: dict[str, Any] = {"kind": "completion", "category": "durable_artifact"}
    return Criterion(id=id, statement=statement or f"The agent does {id}.", **(given | values))


CRITERIA = (
    criterion("cause", "The agent names the cause of the failure."),
    criterion("figures", "The agent ties the cause to readings."),
    criterion("repair", "The agent proposes a repair."),
)
#: What the scripted judge finds them by: the third is not in ``REPORT``.
EVIDENCE = {"cause": "seal wore out", "figures": r"\d bar to \d bar", "repair": "[Rr]eplace"}


def brief(text: str = REPORT, criteria: tuple[Criterion, ...] = CRITERIA, **values: Any) -> Brief:
    material = Material(pieces=(Piece(name="report.md", role="made", text=text),))
    given: dict[str, Any] = {"material": material}
    return Brief(scenario="pumps", task="Say why it failed.", criteria=criteria, **(given | values))


def profile(name: str = "judge", **options: Any) -> ModelProfile:
    known = {"policy": "judge", "evidence": EVIDENCE}
    return ModelProfile(name=name, backend="scripted", options=known | options)


def panel(
    gateway: Gateway, *profiles: ModelProfile, cache: Path | None = None, **values: Any
) -> Panel:
    from pytest_agentbench.grading.judging.cache import Cache

    kept = Cache(cache) if cache else None
    judges = (ModelJudge(profile=each, patience=QUICK, cache=kept) for each in profiles)
    return Panel(judges=tuple(judges), gateway=lambda: gateway, **values)


def said(decision: Decision) -> dict[str, bool | None]:
    return {verdict.id: verdict.met for verdict in decision.verdicts}
