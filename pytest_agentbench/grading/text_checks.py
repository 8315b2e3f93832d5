"""Check types about what the agent said, and about text in what it wrote."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from pytest_agentbench.grading.evidence import Evidence
from pytest_agentbench.grading.match import contains, patterns
from pytest_agentbench.grading.verdict import Evaluator, Verdict, text


def response_contains(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    return _share(evidence.trace.response, params)


def response_excludes(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    return _excludes(evidence.trace.response, params)


def file_contains(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    return _share(evidence.read_text(params["path"]), params)


def file_excludes(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    """The file must exist: what was never written excludes nothing."""
    return _excludes(evidence.read_text(params["path"]), params)


def _share(found: str, params: Mapping[str, Any]) -> Verdict:
    """Share of the patterns that are found; no pattern at all scores nothing."""
    wanted = patterns(params)
    missing = [pattern for pattern in wanted if not contains(found, pattern)]
    if not wanted:
        return Verdict(0.0, "the check names no pattern")
    score = 1 - len(missing) / len(wanted)
    return Verdict(score, f"not found: {text(missing)}" if missing else "", text(wanted), found)


def _excludes(found: str, params: Mapping[str, Any]) -> Verdict:
    hits = [pattern for pattern in patterns(params) if contains(found, pattern)]
    if not hits:
        return Verdict(1.0)
    return Verdict(0.0, f"found: {text(hits)}", f"without {text(patterns(params))}", found)


def response_length_max(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    """1 up to ``max_length`` characters, then the inverse of the excess."""
    length, limit = len(evidence.trace.response), params["max_length"]
    score = 1.0 if length <= limit else limit / length
    return Verdict(score, "", f"at most {limit} characters", f"{length} characters")


def assistant_asks_clarification(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    said, wanted = evidence.trace.response, params.get("patterns") or []
    if not wanted:
        return Verdict(float("?" in said), expected="a question", found=said)
    hits = sum(contains(said, pattern) for pattern in wanted)
    return Verdict(hits / len(wanted), f"{hits} of {len(wanted)} found", text(wanted), said)


def regex(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    """Number of matches in a file or in the response, from ``min_count`` to ``max_count``.

    ``min_count`` is 1 unless given; ``max_count: 0`` alone demands that nothing matches. Matches
    do not overlap. ``multiline`` lets ``^`` and ``$`` match at each line.
    """
    flags = re.IGNORECASE if params.get("ignore_case") else re.NOFLAG
    flags |= re.MULTILINE if params.get("multiline") else re.NOFLAG
    pattern = re.compile(params["pattern"], flags)
    content = evidence.read_text(params["path"]) if "path" in params else evidence.trace.response
    high = params.get("max_count")
    low = params.get("min_count", 0 if high == 0 else 1)
    enough = low if high is None else high + 1
    hits = [m.group() for m in itertools.islice(pattern.finditer(content), enough)]
    found = f"{len(hits)} matches" + (f", the first {text(hits[0])}" if hits else "")
    wanted = f"at least {low}" + ("" if high is None else f", at most {high}")
    passed = len(hits) >= low and (high is None or len(hits) <= high)
    return Verdict(float(passed), "", f"{wanted} matches of {pattern.pattern}", found)


EVALUATORS: dict[str, Evaluator] = {
    evaluator.__name__: evaluator
    for evaluator in (
        response_contains,
        response_excludes,
        response_length_max,
        file_contains,
        file_excludes,
        assistant_asks_clarification,
        regex,
    )
}
