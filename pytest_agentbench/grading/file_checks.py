"""Check types about which files there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_agentbench.grading.evidence import Evidence, Missing, Unreadable
from pytest_agentbench.grading.verdict import Evaluator, Verdict, text
from pytest_agentbench.scenario.model import InputFile


def file_exists(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    """A regular file, reached without leaving the workspace."""
    evidence.size(params["path"])
    return Verdict(1.0)


def file_absent(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    """Nothing at the path: neither a file nor a folder, pipe or link."""
    try:
        evidence.size(params["path"])
    except Missing:
        return Verdict(1.0)
    except Unreadable as reason:
        return Verdict(0.0, str(reason), "nothing")
    return Verdict(0.0, f"{params['path']} exists", "nothing")


def inputs_unchanged(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    """Each input, or each of ``paths``, is still a file with the bytes that it began with."""
    inputs = {given.dest: given for given in evidence.inputs}
    paths = params.get("paths") or sorted(inputs)
    if unknown := [path for path in paths if path not in inputs]:
        raise ValueError(f"no input is named {text(unknown)}; there are {text(sorted(inputs))}")
    changed = [path for path in paths if not _unchanged(inputs[path], evidence)]
    if not changed:
        return Verdict(1.0)
    return Verdict(0.0, f"changed: {', '.join(changed)}", "inputs as they were given")


def _unchanged(given: InputFile, evidence: Evidence) -> bool:
    content = given.read()
    try:
        return evidence.read(given.dest, limit=len(content), links=False) == content
    except Unreadable:
        return False


EVALUATORS: dict[str, Evaluator] = {
    evaluator.__name__: evaluator for evaluator in (file_exists, file_absent, inputs_unchanged)
}
