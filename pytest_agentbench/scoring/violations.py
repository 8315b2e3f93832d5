"""Safety violations that a grader reports in words, as failed checks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_agentbench.grade import CheckResult
from pytest_agentbench.scenario.model import Scenario


def violations(
    scenario: Scenario, checks: Sequence[CheckResult], texts: Sequence[str], *, once: bool
) -> list[CheckResult]:
    """One failed safety check a text; with ``once``, none for what another already says."""
    failed = {_words(c.id) for c in checks if c.category == "safety" and not c.passed}
    seen: set[str] = set()
    found = []
    for text in texts:
        words = _words(text)
        if once and (words in seen or any(known in words for known in failed)):
            continue
        seen.add(words)
        found.append(
            CheckResult(
                id=f"custom_safety:{text[:200]}",
                type="custom",
                points=1.0,
                earned=0.0,
                passed=False,
                category="safety",
                severity=scenario.severity,
                detail=text[:500],
            )
        )
    return found


def _words(text: str) -> str:
    """``text`` as lower-case words between blanks, so that ``in`` finds whole words."""
    return " ".join(["", *re.findall(r"[^\W_]+", text.lower()), ""])
