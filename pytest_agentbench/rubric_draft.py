"""Drafts a rubric from a run with a skill and one without (SkillForgeBench §3.3, E.4)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pytest_agentbench.files import temporary
from pytest_agentbench.grading.judging.wire import Prompt
from pytest_agentbench.rubric_arms import Arm
from pytest_agentbench.rubric_question import PROMPT_ID, SCHEMA, question
from pytest_agentbench.scenario.model import Scenario, ScenarioError
from pytest_agentbench.scenario.rubric import PENALIZE, TOPICS
from pytest_agentbench.scenario.rubric_contrast import draft_problems
from pytest_agentbench.scenario.rubric_file import load_rubric
from pytest_agentbench.scenario.rubric_v2 import VERSION

#: How often a model is asked until its draft breaks no rule.
ASKED = 4
#: Problems that a model is told at once.
_TOLD = 40

#: Puts a question to a model and gives its answer.
Ask = Callable[[Prompt], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What came of asking ``asked`` times; ``text`` is the file, empty where no answer was one.

    ``problems`` are the rules that the last answer breaks: none in a good draft.
    """

    text: str = ""
    problems: tuple[str, ...] = ()
    asked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafting:
    """One rubric to be drafted, by the model called ``model``."""

    scenario: Scenario
    without: Arm
    with_skill: Arm | None = None
    model: str = ""
    tries: int = field(default=ASKED)

    def draft(self, ask: Ask) -> Draft:
        """Ask until nothing is wrong, each time in a conversation of its own."""
        text, earlier = "", ""
        problems: tuple[str, ...] = ()
        for number in range(1, self.tries + 1):
            earlier = ask(
                question(
                    self.scenario,
                    self.with_skill,
                    self.without,
                    number=number,
                    problems=problems[:_TOLD],
                    earlier=earlier,
                )
            )
            text, problems = self.read(earlier)
            if not problems:
                return Draft(text=text, asked=number)
        return Draft(text=text, problems=problems, asked=self.tries)

    def read(self, answer: str) -> tuple[str, tuple[str, ...]]:
        """The file that an answer makes, and what is wrong with it."""
        try:
            given = json.loads(_json(answer))
        except (ValueError, RecursionError):
            return "", ("the answer is not JSON of the form that is asked for, complete",)
        if missing := list(_shape(given, SCHEMA, "the answer")):
            return "", tuple(missing)
        text = yaml.safe_dump(self.file(given), sort_keys=False, allow_unicode=True, width=100)
        return text, (*self._cited(given), *problems(text, self.scenario))

    def file(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The contrastive form of an answer, with what the harness knows itself."""
        single = self.with_skill is None
        arms = [arm for arm in (self.with_skill, self.without) if arm is not None]
        ended = max(arm.record.ended for arm in arms)
        topics = dict.fromkeys(each["category"] for each in given["criteria"])
        return {
            "schema_version": VERSION,
            "set_id": self.scenario.id,
            "task": {
                "one_line_goal": given["goal"],
                "domain": given["domain"],
                "answer_leak_risk": given["answer_leak_risk"],
                "harness_reward_is_trustworthy": False,
            },
            "skill": {
                "name": ", ".join(folder.name for folder in self.scenario.skills),
                "named_phases": given["named_phases"],
                "mandated_outputs": given["mandated_outputs"],
            },
            "oracle": {
                "runtime": self.without.record.runtime,
                "model": self.without.record.model or self.without.record.runtime,
            },
            "source_run_pair": {
                "with_skill_run": self.with_skill.run if self.with_skill else None,
                "no_skill_run": self.without.run,
            },
            "contrast_summary": given["summary"],
            "category_taxonomy": [
                {"category_id": name, "category_weight": 1.0} for name in TOPICS if name in topics
            ],
            "generation_provenance": {
                "generator_model": self.model,
                "generator_prompt_id": PROMPT_ID,
                # Of the runs, not of the clock: the same answer gives the same file.
                "generated_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ended)),
                "method": "single_arm_inferred" if single else "contrastive",
                "mandatory_abstraction_applied": True,
            },
            "set_confidence": {
                "confidence": given["confidence"],
                "single_arm": single,
                "empty_delta": given["empty_delta"],
                "caveats": given["caveats"],
            },
            "criteria": [_criterion(each, single=single) for each in given["criteria"]],
        }

    def _cited(self, given: Mapping[str, Any]) -> Iterator[str]:
        """Events that are cited and are not there."""
        for arm, key in ((self.with_skill, "with_skill_events"), (self.without, "no_skill_events")):
            known = {event["i"] for event in arm.events} if arm else set()
            for each in given["criteria"]:
                if strange := [i for i in each[key] if i not in known]:
                    yield f"{each['id']}: its {key} cites {strange[0]}, which is no event"


def problems(text: str, scenario: Scenario | None) -> tuple[str, ...]:
    """What is wrong with the text of a draft: its form, else every rule that it breaks."""
    with temporary("draft-") as folder:
        path = Path(folder) / "draft.rubric.yaml"
        path.write_text(text, "utf-8")
        try:
            return tuple(map(str, draft_problems(load_rubric(path), scenario)))
        except ScenarioError as error:
            return (error.problem,)


def _criterion(given: Mapping[str, Any], *, single: bool) -> dict[str, Any]:
    penalized = given["criterion_type"] == "anti_pattern"
    scoring: dict[str, Any] = {
        "mode": "both" if given["ladder"] else "binary",
        "binary": {"met_value": int(not penalized), "unmet_value": int(penalized)},
    }
    if given["ladder"]:
        scoring["graded"] = {
            "max": len(given["ladder"]) - 1,
            "ladder": [
                {"level": level, "descriptor": text, "is_negative_anchor": level == 0}
                for level, text in enumerate(given["ladder"])
            ],
        }
    anchors = [
        {"arm": arm, "event": event, "binding": "illustrative_only"}
        for arm in ("with_skill", "no_skill")
        for event in given[f"{arm}_events"]
    ]
    polarity = {"anti_pattern_polarity": PENALIZE} if penalized else {}
    return {
        "criterion_id": given["id"],
        "statement": given["statement"],
        "category_id": given["category"],
        "weight": given["weight"],
        "gatekeeper": given["gatekeeper"],
        "criterion_type": given["criterion_type"],
        **polarity,
        "skill_attribution_confidence": given["attribution"],
        "judge_guidance": {
            "what_to_look_for": given["look_for"],
            "positive_evidence": given["positive_evidence"],
            "negative_anchor": given["negative_anchor"],
            "common_false_positives": given["false_positives"],
        },
        "scoring": scoring,
        "discrimination": {
            key: given[key] for key in ("with_skill_rank", "no_skill_rank", "arm_separation")
        },
        "contrast_provenance": {
            "with_skill_behavior": given["with_skill_behavior"],
            "no_skill_behavior": given["no_skill_behavior"],
            "anchors": anchors,
            "hypothesized": single,
        },
    }


def _json(answer: str) -> str:
    """The JSON of an answer, which models like to put into a fence."""
    start, end = answer.find("{"), answer.rfind("}")
    return answer[start : end + 1] if start >= 0 else answer


def _shape(value: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    import jsonschema

    for error in jsonschema.Draft202012Validator(schema).iter_errors(value):
        where = error.json_path.removeprefix("$").removeprefix(".") or place
        yield f"{where}: {error.message[:200]}"
