"""The keys of each form of scenario file."""

from __future__ import annotations

import re

VERSION = 1
#: What ids of scenarios and checks look like.
IDENTIFIER = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")
POLICIES = ("composite", "mean", "rubric")
#: How far a model may have seen the scenario (ClawProBench §5).
EXPOSURES = ("zero-shot", "prompt-tuned-on-dev", "benchmark-exposed", "diagnostic-only")
#: Limits that a scenario may set on the sandbox, all whole numbers above 0.
SANDBOX = ("memory_mb", "processes", "file_mb", "cpu_seconds", "open_files")

#: Nothing acts on these; they are kept in ``Scenario.extra``.
DOCUMENTATION = (
    "category",
    "description",
    "objective",
    "prerequisites",
    "steps",
    "scoring_criteria",
    "time_limit",
    "fixtures",
    "generator_model",
)

_SHARED = (
    "id",
    "name",
    "dimension",
    "difficulty",
    "weight",
    "tags",
    "timeout_seconds",
    "optimal_steps",
    "pass_threshold",
    "workspace_files",
)
_OURS = (
    *("agentbench", "family", "siblings", "exposure", "severity", "requires", "policy", "sandbox"),
    "skills",
)
_COMPOSITE = (
    "workspace_seed_dir",
    "setup_script",
    "teardown_script",
    "efficiency_penalty_cap",
    "efficiency_penalty_rate",
    "tools",
    "expected_tools",
    "ideal_tool_sequence",
    "custom_check",
    "expected_outcome",
)
#: Keys whose place in task markdown is a section of the body.
_BODY = ("prompt", "checks", "solution", "probes", "alternatives", "rubric")

NATIVE = (*_OURS[:1], *_SHARED, *_OURS[1:], *_COMPOSITE, *_BODY, *DOCUMENTATION)

#: Facts about the published suite that only its own selectors act on; kept in ``extra``.
SUITE = (
    "benchmark_group",
    "benchmark_status",
    "benchmark_core",
    "signal_source",
    "execution_mode",
    "openclaw_surfaces",
    "replay_traces",
    "mock_responses",
    "fault_injection",
)
CLAWPRO = (*_SHARED, *_COMPOSITE, *_BODY[:2], "scoring", *SUITE, *DOCUMENTATION)

#: Documentation keys of published task markdown.
TASK = ("category", "sub_problems", "skill_category", "task_family", "grader_family")
EVOCLAW = (*_SHARED, *_OURS, "grading_type", "grading_weights", *TASK)
#: Front matter of native task markdown.
TASK_NATIVE = (
    *EVOCLAW,
    *_COMPOSITE,
    *(key for key in DOCUMENTATION if key not in TASK),
)
