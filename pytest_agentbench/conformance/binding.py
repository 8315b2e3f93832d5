"""Binds what the suite found of a runtime into the records of its trials."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_agentbench.runtimes.protocol import RuntimeInfo
from pytest_agentbench.trial import RuntimeProfile

if TYPE_CHECKING:
    from pytest_agentbench.conformance.result import Result

#: Below the root of a project, where a result is looked for that no profile names.
STANDARD = Path("reports", "conformance")


def named_result(profile: RuntimeProfile, root: Path) -> Result | None:
    """The result that the profile names, relative to ``root``. Raises ``ProfileError``."""
    if not profile.conformance:
        return None
    from pytest_agentbench.conformance.result import ResultError, read

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
    if not profile.conformance and not (root / STANDARD).is_dir():
        return None
    # Only here: most workers never see a result.
    from pytest_agentbench.conformance.result import ResultError, file_name, read

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
