"""What a record says of judging: who judged, what it cost, and whose models had a hand in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_agentbench.grading.decide import Judges
from pytest_agentbench.grading.docket import Docket
from pytest_agentbench.grading.judging.decision import Decision
from pytest_agentbench.plain import plain


def account(judges: Judges, docket: Docket, decision: Decision, tested: str) -> dict[str, Any]:
    """For the field ``observed`` of a record: nothing where nobody could have judged.

    ``tested`` is the family of the model under test.
    """
    found: dict[str, Any] = {}
    if judges.names:
        found["judge"] = ", ".join(judges.names)
    if docket.brief is None:
        return found
    panel = judges.panel
    known = {"tested": tested, **docket.makers}
    found["judging"] = {
        "vote": panel.vote if panel and len(panel.judges) > 1 else "",
        "judges": plain(decision.judges),
        "usage": plain(decision.usage),
        "attempts": plain(docket.brief.material.attempts),
        "families": {
            **{name: each for name, each in known.items() if each},
            "judges": {str(each["name"]): str(each["family"]) for each in decision.judges},
        },
    }
    if decision.message:
        # The part that needs no judge is known, though it is no score.
        found["undecided"] = {
            "message": decision.message,
            "checks": {check.id: check.passed for check in docket.checks},
            "criteria": {each.id: each.met for each in (*docket.checked, *decision.verdicts)},
        }
    return found


def kin(found: Mapping[str, Any]) -> tuple[str, ...]:
    """Which of the families in ``found`` are that of the model under test, in words."""
    tested = found.get("tested")
    if not tested:
        return ()
    same = [f"judge {name}" for name, each in found["judges"].items() if each == tested]
    return (*same, *(name for name in ("drafter", "generator") if found.get(name) == tested))
