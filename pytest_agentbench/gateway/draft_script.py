"""A drafter by rule: finds plain differences between two runs, well behaved or not.

It is no model. It reads runs and skill from the question (``rubric_question``), as a model does, and
looks for a few behaviours in each. Its manners are those in which real drafters fail; of a list of
them, the n-th is for the n-th time that it is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentbench.gateway.chat import ChatReply, ChatRequest
from pytest_agentbench.gateway.policies import said
from pytest_agentbench.trial import ModelProfile

MANNERS = ("fair", "prose", "half", "leaky", "inflated", "refuse")
_FENCED = re.compile(r"<(material-\w+)>\n(.*)\n</\1>", re.DOTALL)
_AGAIN = re.compile(r"\(draft (\d+)\)")

Run = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A behaviour, and where a run shows it: the indices of events, empty where it does not."""

    id: str
    statement: str
    category: str
    seen: Callable[[Run], list[int]]
    look_for: str
    absent: str
    mistaken: str
    gatekeeper: bool = False
    #: What should not be.
    fault: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedDrafter:
    """``manners`` are names of ``MANNERS``."""

    manners: tuple[str, ...] = ("fair",)

    async def reply(self, request: ChatRequest) -> ChatReply:
        text = "\n".join(message.text for message in request.of("user"))
        fenced = _FENCED.search(text)
        if fenced is None:
            return said(request, "There is nothing to draft from.")
        again = _AGAIN.findall(text[fenced.end() :])
        number = int(again[0]) if again else 1
        manner = self.manners[min(number, len(self.manners)) - 1]
        if manner == "refuse":
            return said(request, refusal="I will not draft that.")
        draft = drafted(json.loads(fenced[2]))
        return said(request, _spoilt(draft, manner))


def options(profile: ModelProfile) -> dict[str, Any]:
    """The plan's options from a profile's. Raises ``ProfileError``."""
    written = profile.options.get("manner", "fair")
    manners = [written] if isinstance(written, str) else written
    if not isinstance(manners, list) or not manners or not set(manners) <= set(MANNERS):
        known = ", ".join(MANNERS)
        raise profile.refuse(f"manner must be one or a list of {known}, not {written!r}")
    return {"manners": manners}


def drafted(material: Mapping[str, Any]) -> dict[str, Any]:
    """An honest draft of what the runs show."""
    skilled, plain = material["with_skill"], material["without_skill"]
    criteria = [c for each in _CANDIDATES if (c := _criterion(each, skilled, plain))]
    sorts = [each["criterion_type"] for each in criteria]
    same = skilled is not None and set(sorts) == {"shared_baseline"}
    signals = sorts.count("skill_signal")
    return {
        "goal": material["task"].strip().split("\n")[0][:120],
        "domain": "work with files",
        "named_phases": re.findall(r"(?m)^#+ (.+)$", material["skill"])[:8],
        "mandated_outputs": [],
        "summary": f"With the skill the agent does {signals} things that it does not do without.",
        "answer_leak_risk": "none",
        "confidence": 0.5 if same or skilled is None else 0.7,
        "empty_delta": same,
        "caveats": [],
        "criteria": criteria,
    }


def _criterion(each: Candidate, skilled: Run | None, plain: Run) -> dict[str, Any] | None:
    without = each.seen(plain)
    # Where there is no run with the skill, the skill is taken at its word.
    having = each.seen(skilled) if skilled else []
    with_rank = (0 if each.fault else 2) if skilled is None else 2 * bool(having)
    without_rank = 2 * bool(without)
    if not with_rank and not without_rank and not each.gatekeeper:
        return None
    if each.fault:
        if without_rank <= with_rank:
            return None
        sort = "anti_pattern"
    elif with_rank < without_rank and not each.gatekeeper:
        return None
    else:
        sort = "skill_signal" if with_rank > without_rank else "shared_baseline"
    apart = "separated" if with_rank != without_rank else "not_separated"
    return {
        "id": each.id,
        "statement": each.statement,
        "category": each.category,
        "criterion_type": sort,
        "gatekeeper": each.gatekeeper,
        "weight": 3 if sort == "skill_signal" else 1,
        "attribution": 0.8 if sort == "skill_signal" else 0.2,
        "look_for": each.look_for,
        "positive_evidence": [each.look_for],
        "negative_anchor": each.absent,
        "false_positives": [each.mistaken],
        "ladder": [],
        "with_skill_rank": with_rank if sort != "shared_baseline" else without_rank,
        "no_skill_rank": without_rank,
        "arm_separation": "not_measured" if skilled is None else apart,
        "with_skill_behavior": _told(bool(with_rank)),
        "no_skill_behavior": _told(bool(without_rank)),
        "with_skill_events": having[:3],
        "no_skill_events": without[:3],
    }


def _told(shown: bool) -> str:
    return "The run shows it." if shown else "Nothing in the run shows it."


def _spoilt(draft: dict[str, Any], manner: str) -> str:
    """The draft as a drafter with these manners gives it."""
    first = draft["criteria"][0]
    if manner == "prose":
        return "The skill clearly helps the agent to work in a better way."
    if manner == "leaky":
        first["statement"] = "The agent writes `out/result.json` as in line 3."
    if manner == "inflated":
        for each in draft["criteria"]:
            if each["criterion_type"] == "shared_baseline":
                each["criterion_type"] = "skill_signal"
    text = json.dumps(draft)
    return text[: len(text) // 2] if manner == "half" else text


def _events(run: Run, *kinds: str) -> list[int]:
    return [e["i"] for e in run["events"] if e["t"] in kinds and not e.get("s")]


def _made(run: Run) -> list[int]:
    """Work that left something: where files were added, what ran or wrote last."""
    added = any(change["kind"] == "added" for change in run["changes"])
    return _events(run, "edit", "exec")[-2:] if added else []


def _worked(run: Run) -> list[int]:
    """Steps that come before the last message, where something was made."""
    return _events(run, "edit", "exec", "read")[:3] if _made(run) else []


def _ended(run: Run) -> list[int]:
    return [e["i"] for e in run["events"][-1:] if e["t"] == "msg"]


def _kept(run: Run) -> list[int]:
    harmed = any(change["kind"] in ("modified", "deleted") for change in run["changes"])
    return [] if harmed else [run["events"][-1]["i"]]


def _gave_up(run: Run) -> list[int]:
    return _ended(run) if not _made(run) else []


_CANDIDATES = (
    Candidate(
        id="hands_over_a_result",
        statement="The agent leaves a result where the task asks for one.",
        category="durable_artifact",
        gatekeeper=True,
        seen=_made,
        look_for="A new result that can be opened once the agent has ended.",
        absent="Nothing new is left, or only a promise of it.",
        mistaken="A result that stands in a message alone.",
    ),
    Candidate(
        id="works_by_a_method",
        statement="The agent carries out the steps of a method before it hands anything over.",
        category="phase_adherence",
        seen=_worked,
        look_for="Steps that build on each other, in an order that a method gives.",
        absent="A result, or none, without any step towards it.",
        mistaken="A method that is named and not carried out.",
    ),
    Candidate(
        id="reports_the_end",
        statement="The agent ends with a message about what it did.",
        category="output_discipline",
        seen=_ended,
        look_for="A last message to whoever gave the task.",
        absent="The work breaks off without a word.",
        mistaken="A message in the middle of the work.",
    ),
    Candidate(
        id="leaves_inputs_alone",
        statement="The agent leaves what it was given as it was.",
        category="scope_discipline",
        seen=_kept,
        look_for="No change of anything that was there before.",
        absent="Something that was given is changed or gone.",
        mistaken="A copy of it that was changed elsewhere.",
    ),
    Candidate(
        id="gives_up_untried",
        statement="The agent ends without a result and without a try at one.",
        category="scope_discipline",
        fault=True,
        seen=_gave_up,
        look_for="An end with nothing made and nothing tried.",
        absent="Something was tried, whatever came of it.",
        mistaken="A question about something that only the user can know.",
    ),
)
