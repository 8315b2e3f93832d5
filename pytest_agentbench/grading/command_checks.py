"""The check type that runs a command: tests of the agent's code, or a script that verifies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Command, Completed, View
from pytest_agentbench.grading import snapshot
from pytest_agentbench.grading.equality import same
from pytest_agentbench.grading.evidence import Evidence, Unreadable
from pytest_agentbench.grading.match import contains
from pytest_agentbench.grading.verdict import Evaluator, Verdict, text
from pytest_agentbench.sandbox import leftovers
from pytest_agentbench.sandbox.protocol import search_path
from pytest_agentbench.status import Status, TrialFault, status_of

TIMEOUT = 30.0
MAX_BYTES = 256 << 20


def command(params: Mapping[str, Any], evidence: Evidence) -> Verdict:
    """Run ``argv`` in a copy of the workspace, in the sandbox, and look at what came of it.

    The command has an environment of its own (PATH, LANG, and a HOME that is empty; Python reads
    no bytecode of the workspace's), ``stdin`` as text, and ``timeout`` seconds (30 unless given). It must end with ``exit_code`` (0 unless
    given), and its standard output must hold ``stdout_contains`` (text or a list, case-blind)
    and be ``stdout_equals`` (surrounding space aside; as JSON if both are). The score is 0 or 1.
    """
    size = sum(entry.size for entry in snapshot.entries(evidence.workspace) if not entry.problem)
    if size > MAX_BYTES:
        raise Unreadable(
            f"the workspace holds {size:,} bytes; for a command at most {MAX_BYTES:,} are copied"
        )
    if evidence.sandbox is None:
        raise TrialFault(Status.HARNESS_ERROR, "a command check needs a sandbox; there is none")
    try:
        with leftovers.temporary("check-") as folder:
            snapshot.take(evidence.workspace, folder / "workspace", copy="always")
            (folder / "home").mkdir()
            done = evidence.sandbox.run(_command(params, folder))
    except OSError as error:
        problem = f"cannot copy the workspace for a command: {error}"
        raise TrialFault(status_of(error), problem) from error
    return _verdict(params, done)


def _command(params: Mapping[str, Any], folder: Path) -> Command:
    return Command(
        argv=tuple(map(str, params["argv"])),
        cwd=folder / "workspace",
        env={
            "PATH": search_path(),
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            # Not the __pycache__ of the workspace: what lies there passes for current by size and
            # second alone, so it may be older than the source, or made to differ from it.
            "PYTHONPYCACHEPREFIX": str(folder / "home" / "pycache"),
            "PYTHONNOUSERSITE": "1",
        },
        stdin=str(params.get("stdin", "")).encode(),
        timeout=float(params.get("timeout", TIMEOUT)),
        view=View(writable=(folder / "workspace", folder / "home")),
    )


def _verdict(params: Mapping[str, Any], done: Completed) -> Verdict:
    code = params.get("exit_code", 0)
    if done.timed_out:
        return Verdict(0.0, f"still running after {params.get('timeout', TIMEOUT):g} s")
    if done.exit_code is None:
        return Verdict(0.0, f"could not be started: {_decoded(done.stderr)}")
    if done.exit_code != code:
        errors = "; ".join(done.exceeded) or _decoded(done.stderr or done.stdout)[-120:]
        return Verdict(0.0, errors, f"exit code {code}", f"exit code {done.exit_code}")
    said = _decoded(done.stdout)
    wanted = params.get("stdout_contains", [])
    wanted = wanted if isinstance(wanted, list) else [wanted]
    if missing := [each for each in wanted if not contains(said, each)]:
        return Verdict(0.0, "missing from standard output", text(missing), said)
    if "stdout_equals" in params and not _equal(text(params["stdout_equals"]), said):
        return Verdict(0.0, "standard output differs", text(params["stdout_equals"]), said)
    return Verdict(1.0)


def _equal(expected: str, said: str) -> bool:
    expected, said = expected.strip(), said.strip()
    if expected == said:
        return True
    try:
        return same(json.loads(expected), json.loads(said))
    except (ValueError, RecursionError):
        return False


def _decoded(stream: bytes) -> str:
    return stream.decode("utf-8", "backslashreplace").strip()


EVALUATORS: dict[str, Evaluator] = {"command": command}
