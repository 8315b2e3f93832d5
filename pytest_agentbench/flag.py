"""Flags: what is worth knowing of a trial although it changed no status."""

from __future__ import annotations

import enum


class Flag(enum.StrEnum):
    """Listed, with what each means, in docs/records.md. Values never change their meaning."""

    ADAPTER_UNTESTED = "adapter_untested"
    CHECKER_CRASHED = "checker_crashed_on_output"
    CHECKER_RAN_OUTPUT = "checker_ran_output"
    GRADED_AGAIN = "graded_again"
    IMPORTED = "imported"
    JUDGED_BY_KIN = "judged_by_kin"
    JUDGE_ADDRESSED = "judge_addressed"
    LEFT_PROCESSES = "left_processes"
    LIMITS_REACHED = "limits_reached"
    MAX_TURNS = "max_turns"
    OUTPUT_CUT = "output_cut"
    OUTPUTS_EARLY = "outputs_early"
    RERUN = "rerun_after_score"
    SKILL_CHANGED = "skill_changed"
    SURVIVORS = "survivors"
    TRACE_CUT = "trace_cut"
    TRACE_LINES_UNREADABLE = "trace_lines_unreadable"
    USAGE_DIFFERS = "usage_differs"
    WORKSPACE_REPLACED = "workspace_replaced"
