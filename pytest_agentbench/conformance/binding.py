"""Binds what the suite found of a runtime into the records of its trials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_agentbench.conformance.result import STANDARD, Result, ResultError, file_name, read
from pytest_agentbench.runtimes.protocol import RuntimeInfo
from pytest_agentbench.trial import RuntimeProfile


def named_result(profile: RuntimeProfile, root: Path) -> Result | None:
    """The result that the profile names, relative to ``root``. Raises ``ProfileError``."""
    if not profile.conformance:
        return None
    try:
        return read(root / profile.conformance)
    except ResultError as error:
        raise profile.refuse(f"conformance: {error}") from None


def bound(profile: RuntimeProfile, info: RuntimeInfo, root: Path) -> dict[str, Any] | None:
    """What a record says of the runtime's conformance; None where nobody knows of any.

    That is in the file which the profile names, else in ``reports/conformance/ADAPTER@VERSION.json``
    below ``root``, and only if it is about the same adapter, version and digest. Raises
    ``ProfileError``.
    """
    result = named_result(profile, root)
    if result is None:
        path = root / STANDARD / file_name(profile.adapter, info.version)
        try:
            result = read(path)
        except ResultError:
            return None
    if not info.digest or not result.binds(profile.adapter, info.version, info.digest):
        return None
    return {
        "passed": result.passed,
        "clauses": result.clauses,
        "failed": list(result.failed),
        "plugin": result.plugin,
        "sandbox": result.sandbox,
    }
