"""Rubric files in both forms, for tests."""

from __future__ import annotations

import json
from typing import Any

SCENARIO = """\
agentbench: 1
id: pumps
dimension: synthesis
prompt: Say why pump 7 failed, in report.md.
checks:
- {id: there, type: file_exists, path: report.md}
"""

NATIVE = """\
rubric: 1
description: What a good root cause report is.
criteria:
- id: right_cause
  statement: The agent names the cause that the evidence supports.
  category: domain_operationalization
  weight: 3
  gatekeeper: true
  look_for: The cause, and what rules the others out.
  positive_evidence: [The cause is tied to readings.]
  negative_anchor: A cause is guessed.
  false_positives: [Several causes are listed.]
  ladder:
  - {level: 0, statement: No cause, negative_anchor: true}
  - {level: 1, statement: A cause without evidence}
  - {level: 2, statement: A cause with evidence}
- id: reads_first
  statement: The agent reads the log before it writes.
  kind: process
  category: Workflow adherence
  must: true
  check: {type: happens_before, first: {reads: log.txt}, then: {writes: "*"}}
- id: no_repairs
  statement: The agent orders repairs that nobody asked for.
  category: Scope Discipline
  applies_if: Repairs could be ordered.
  criterion_type: anti_pattern
  polarity: penalize_when_met
  discrimination: {with_skill_rank: 1, no_skill_rank: 2, arm_separation: separated, attribution: 0.7}
  contrast_provenance: {no_skill_behavior: It ordered a seal.}
"""


def contrasted(id: str, **values: Any) -> dict[str, Any]:  # noqa: A002
    """A criterion of the contrastive form that keeps every rule of E.4: a shared baseline."""
    return {
        "criterion_id": id,
        "statement": f"The agent does what {id.replace('_', ' ')} asks.",
        "category_id": "durable_artifact",
        "weight": 2,
        "criterion_type": "shared_baseline",
        "skill_attribution_confidence": 0.2,
        "judge_guidance": {
            "what_to_look_for": "A result that can be opened.",
            "positive_evidence": ["It is there."],
            "negative_anchor": "Only a promise of a result.",
            "common_false_positives": ["An empty file."],
        },
        "scoring": {"mode": "binary", "binary": {"met_value": 1, "unmet_value": 0}},
        "discrimination": {
            "with_skill_rank": 1,
            "no_skill_rank": 1,
            "arm_separation": "not_separated",
        },
        "contrast_provenance": {
            "with_skill_behavior": "Wrote a report.",
            "no_skill_behavior": "Wrote a report.",
            "anchors": [{"arm": "with", "event": 4, "binding": "illustrative_only"}],
            "hypothesized": False,
        },
    } | values


SIGNAL = {
    "criterion_type": "skill_signal",
    "skill_attribution_confidence": 0.9,
    "discrimination": {"with_skill_rank": 2, "no_skill_rank": 0, "arm_separation": "separated"},
}
ANTI = {
    "criterion_type": "anti_pattern",
    "anti_pattern_polarity": "penalize_when_met",
    "scoring": {"mode": "binary", "binary": {"met_value": 0, "unmet_value": 1}},
    "discrimination": {"with_skill_rank": 0, "no_skill_rank": 2, "arm_separation": "separated"},
}
LADDER = {
    "mode": "both",
    "binary": {"met_value": 1, "unmet_value": 0},
    "graded": {
        "max": 2,
        "ladder": [
            {"level": 0, "descriptor": "Nothing was tried.", "is_negative_anchor": True},
            {"level": 1, "descriptor": "One try."},
            {"level": 2, "descriptor": "Tried until it worked."},
        ],
    },
}


def contrastive(*criteria: dict[str, Any], **values: Any) -> dict[str, Any]:
    """A rubric of the contrastive form that keeps every rule of E.4, with ``values`` changed."""
    given = criteria or (
        contrasted("verdict", gatekeeper=True),
        contrasted("opens", category_id="output_discipline"),
        contrasted("probes", category_id="empirical_verification_loop", scoring=LADDER, **SIGNAL),
        contrasted("phases", category_id="phase_adherence", **SIGNAL),
        contrasted("rushes", category_id="scope_discipline", **ANTI),
    )
    topics = dict.fromkeys(each["category_id"] for each in given)
    return {
        "schema_version": "contrastive_skill_rubric.v2",
        "set_id": "pumps",
        "task": {
            "one_line_goal": "Say why a pump failed.",
            "domain": "operations",
            "answer_leak_risk": "none",
            "harness_reward_is_trustworthy": False,
        },
        "skill": {"name": "root-cause", "named_phases": ["probe"], "mandated_outputs": []},
        "oracle": {"model": "frontier"},
        "source_run_pair": {"with_skill_run": "run-a", "no_skill_run": "run-b"},
        "contrast_summary": "With the skill causes are probed before they are named.",
        "category_taxonomy": [{"category_id": t, "category_weight": 1.0} for t in topics],
        "generation_provenance": {
            "generator_model": "drafter",
            "generator_prompt_id": "draft.md",
            "generated_at": "2027-01-01T00:00:00Z",
            "method": "contrastive",
            "mandatory_abstraction_applied": True,
        },
        "set_confidence": {
            "confidence": 0.8,
            "single_arm": False,
            "empty_delta": False,
            "caveats": [],
        },
        "criteria": list(given),
    } | values


def as_json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=1)
