"""From a declared check and the evidence to its verdict."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_agentbench.grade import CheckResult
from pytest_agentbench.grading import (
    command_checks,
    file_checks,
    json_checks,
    order,
    table,
    text_checks,
    tool_checks,
)
from pytest_agentbench.grading.evidence import Evidence, Unreadable
from pytest_agentbench.grading.verdict import Evaluator, Verdict, result
from pytest_agentbench.scenario.model import CheckSpec
from pytest_agentbench.status import Status, TrialFault

#: By check type: all of ``CHECK_TYPES`` but ``python``, which the checker server runs.
EVALUATORS: Mapping[str, Evaluator] = {
    **tool_checks.EVALUATORS,
    **text_checks.EVALUATORS,
    **file_checks.EVALUATORS,
    **json_checks.EVALUATORS,
    **table.EVALUATORS,
    **command_checks.EVALUATORS,
    **order.EVALUATORS,
}
#: Types that hostile content can make slow without end.
_HEAVY = frozenset(("regex", "json_schema", "table", "python"))


def evaluate(spec: CheckSpec, evidence: Evidence) -> CheckResult:
    """The verdict of one declared check.

    What the agent left unreadable scores 0. Raises ``TrialFault``: ``checker_error`` where the
    declaration or its evaluator is at fault, else with the status of the harness's trouble.
    """
    if spec.type not in EVALUATORS:
        raise TrialFault(
            Status.CHECKER_ERROR,
            f"check {spec.id!r} is of type {spec.type}, which is not evaluated here; "
            f"known are: {', '.join(sorted(EVALUATORS))}",
        )
    try:
        verdict = EVALUATORS[spec.type](spec.params, evidence)
    except Unreadable as reason:
        verdict = Verdict(0.0, str(reason))
    except (RecursionError, MemoryError):
        verdict = Verdict(0.0, "what the agent left is too deep or too large to be checked")
    except TrialFault:
        raise
    except Exception as error:
        raise TrialFault(
            Status.CHECKER_ERROR,
            f"check {spec.id!r} of type {spec.type} cannot be evaluated: "
            f"{type(error).__name__}: {error}; mend its parameters in the scenario file",
        ) from error
    return result(spec, verdict)


def needs_child(spec: CheckSpec) -> bool:
    """Whether the check is to be evaluated in a child with a time limit."""
    if spec.type == "json_path":
        query = str(spec.params.get("query", ""))
        return "matches" in spec.params or "match(" in query or "search(" in query
    if spec.type == "happens_before":
        return any(
            "command" in p for key in ("first", "then") for p in order.patterns(spec.params, key)
        )
    return spec.type in _HEAVY
