"""What a record says of judging: who judged, what it cost, and whose models had a hand in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_agentbench.grading.decide import Judges
from pytest_agentbench.grading.docket import Docket
from pytest_agentbench.grading.judging.family import family
from pytest_agentbench.grading.judging.panel import Decision
from pytest_agentbench.plain import plain
from pytest_agentbench.trial import ModelProfile


def account(
    judges: Judges, docket: Docket, decision: Decision, tested: ModelProfile | None
) -> dict[str, Any]:
    """For the field ``observed`` of a record: nothing where nobody could have judged."""
    found: dict[str, Any] = {}
    if judges.names:
        found["judge"] = ", ".join(judges.names)
    if docket.brief is None:
        return found
    panel = judges.panel
    found["judging"] = {
        "vote": panel.vote if panel and len(panel.judges) > 1 else "",
        "judges": plain(decision.judges),
        "usage": plain(decision.usage),
        "attempts": plain(docket.brief.material.attempts),
        "families": families(docket, decision, tested),
    }
    if decision.message:
        # The part that needs no judge is known, though it is no score.
        found["undecided"] = {
            "message": decision.message,
            "checks": {check.id: check.passed for check in docket.checks},
            "criteria": {each.id: each.met for each in (*docket.checked, *decision.verdicts)},
        }
    return found


def families(
    docket: Docket, decision: Decision, tested: ModelProfile | None
) -> dict[str, str | dict[str, str]]:
    """The family of each model that had a hand in the trial or its verdict, as far as known."""
    facts = docket.rubric.facts if docket.rubric else {}
    made: Any = facts.get("generation_provenance")
    drafter = str(made.get("generator_model") or "") if isinstance(made, Mapping) else ""
    generator = str(docket.scenario.extra.get("generator_model") or "")
    said = {
        "tested": family(str(tested.options.get("model", tested.name))) if tested else "",
        "drafter": family(drafter),
        "generator": family(generator),
    }
    judging = {str(each["name"]): str(each["family"]) for each in decision.judges}
    return {**{name: found for name, found in said.items() if found}, "judges": judging}


def kin(found: Mapping[str, Any]) -> tuple[str, ...]:
    """Which of the families in ``found`` are that of the model under test, in words."""
    tested = found.get("tested")
    if not tested:
        return ()
    same = [f"judge {name}" for name, each in found["judges"].items() if each == tested]
    return (*same, *(name for name in ("drafter", "generator") if found.get(name) == tested))
