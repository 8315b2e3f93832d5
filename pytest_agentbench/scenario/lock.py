"""Hashes of everything in a scenario that a score depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from pytest_agentbench.scenario.imports import reached
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.scenario.paths import walk

#: Changes whenever the same evidence may get another grade.
GRADING_VERSION = "1"


def lock(scenario: Scenario) -> dict[str, str]:
    """SHA-256 in hex of each part that is declared before a run; equal parts, equal hashes.

    ``scenario``: the bytes of its file. ``inputs``: destination, content and mode of each.
    ``checker``: the Python files that grade, and what they import of files beside them and in their
    checkout. ``rubric``. ``skills``: the files in their folders. ``scripts``: setup and teardown.
    ``limits``: times, thresholds, sandbox.
    ``grading``: the version of the grading itself. Raises ``OSError`` for a file that is gone.
    """
    return {
        "scenario": _hash([scenario.path.read_bytes()]),
        "inputs": _hash(_inputs(scenario)),
        "checker": _hash(_checkers(scenario)),
        "rubric": _hash(_rubric(scenario)),
        "skills": _hash(_skills(scenario)),
        "scripts": _hash(_scripts(scenario)),
        "limits": _hash([_text(_limits(scenario))]),
        "grading": _hash([GRADING_VERSION.encode()]),
    }


def _hash(parts: Iterable[bytes]) -> str:
    """Of the parts and where each ends, so that no two lists of parts hash alike."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def _text(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _inputs(scenario: Scenario) -> Iterable[bytes]:
    for file in scenario.inputs:
        yield from (file.dest.encode(), file.read(), b"x" if file.executable else b"-")


def _rubric(scenario: Scenario) -> Iterable[bytes]:
    yield _text([scenario.rubric, scenario.criteria, scenario.hybrid])
    if scenario.atomic_rubric is not None:
        yield scenario.atomic_rubric.path.read_bytes()


def _checkers(scenario: Scenario) -> Iterable[bytes]:
    checks = (*scenario.checks, *(scenario.atomic_rubric.checks if scenario.atomic_rubric else ()))
    checkers = [Path(c.params["file"]) for c in checks if c.type == "python"]
    if scenario.grader is not None:
        yield scenario.grader.api.encode()
        yield (scenario.grader.source or "").encode()
        checkers += [scenario.grader.path] if scenario.grader.path else []
    contents: dict[Path, bytes] = {}
    for checker in checkers:
        contents |= reached(checker)
    for file in sorted(contents):
        yield from (file.name.encode(), contents[file])


def _skills(scenario: Scenario) -> Iterable[bytes]:
    for folder in scenario.skills:
        yield folder.name.encode()
        for name, path, executable in walk(folder):
            yield from (name.encode(), path.read_bytes(), b"x" if executable else b"-")


def _scripts(scenario: Scenario) -> Iterable[bytes]:
    for script in (scenario.setup_script, scenario.teardown_script):
        yield script.read_bytes() if script else b""


def _limits(scenario: Scenario) -> list[object]:
    return [
        scenario.timeout_seconds,
        scenario.optimal_steps,
        scenario.policy,
        scenario.threshold,
        scenario.efficiency_penalty_cap,
        scenario.efficiency_penalty_rate,
        scenario.weight,
        dict(scenario.sandbox),
    ]
