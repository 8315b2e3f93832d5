"""The declarative check types and their parameters, as the loader and the schema know them.

How each type scores is in ``grading``; this table only says what may be written in a file.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckType:
    """``required`` and ``optional`` name parameters; ``one_of`` groups need exactly one each."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    one_of: tuple[tuple[str, ...], ...] = ()

    @property
    def allowed(self) -> tuple[str, ...]:
        return self.required + tuple(n for group in self.one_of for n in group) + self.optional


_PATTERN = ("pattern", "patterns")
#: Keys of an event pattern, which ``happens_before`` takes for ``first`` and ``then``.
EVENT_KEYS = ("tool", "path", "reads", "writes", "command", "text")

CHECK_TYPES: dict[str, CheckType] = {
    # The 18 of the published composite form; parameters and scores as there.
    "tool_called": CheckType(("tool",), ("min_count", "min_calls", "max_count", "max_calls")),
    "tool_not_called": CheckType(("tool",)),
    "tool_arg_contains": CheckType(("tool",), ("path", *_PATTERN)),
    "tool_arg_excludes": CheckType(("tool", "pattern"), ("path",)),
    "tool_response_contains": CheckType(("tool",), ("path", *_PATTERN)),
    "tool_response_excludes": CheckType(("tool", "pattern")),
    "tool_sequence": CheckType(("tools",)),
    "tool_called_before": CheckType(("first", "second")),
    "tool_count": CheckType(("tool",), ("min_count", "max_count")),
    "tool_count_score": CheckType(("tool",), ("target_count", "ideal_count", "tolerance")),
    "response_contains": CheckType((), _PATTERN),
    "response_excludes": CheckType((), _PATTERN),
    "response_length_max": CheckType(("max_length",)),
    "file_exists": CheckType(("path",)),
    "file_contains": CheckType(("path",), _PATTERN),
    "tool_recovered_after_error": CheckType(("tool",), ("error_code_at_least",)),
    "assistant_asks_clarification": CheckType((), ("patterns",)),
    "audit_state_match": CheckType(("path", "match")),
    # Ours.
    "file_absent": CheckType(("path",)),
    "file_excludes": CheckType(("path",), _PATTERN),
    "json_path": CheckType(
        ("path", "query"),
        ("tolerance", "ignore_case"),
        (("equals", "one_of", "approx", "unordered", "contains", "matches", "absent"),),
    ),
    "json_schema": CheckType(("path", "schema")),
    "table": CheckType(
        ("path", "rows"), ("key", "ordered", "extra_rows", "tolerance", "ignore_case", "delimiter")
    ),
    "regex": CheckType(
        ("pattern",),
        ("min_count", "max_count", "ignore_case", "multiline"),
        (("path", "response"),),
    ),
    "command": CheckType(
        ("argv",), ("exit_code", "stdout_contains", "stdout_equals", "timeout", "stdin")
    ),
    "inputs_unchanged": CheckType((), ("paths",)),
    "happens_before": CheckType(("first", "then")),
    "python": CheckType(("function",), ("args",)),
}
