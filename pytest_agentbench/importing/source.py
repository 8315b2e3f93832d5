"""Puts results of the published harnesses into a run folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_agentbench.importing import clawpro, evoclaw
from pytest_agentbench.importing.reading import ImportProblem
from pytest_agentbench.record import PlannedTrial, Record
from pytest_agentbench.report.ledger import Ledger
from pytest_agentbench.report.plan import write_plan

_FORMS = (clawpro, evoclaw)
#: What EvoClawBench writes beside its results ends so, and is caught by the same pattern of files.
TRAJECTORIES = ".trajectories.json"


def read_results(path: Path) -> tuple[Record, ...]:
    """All results of a file, in its order. Raises ``ImportProblem``."""
    try:
        raw = path.read_bytes()
        data = json.loads(raw)
    except OSError as error:
        raise ImportProblem(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ImportProblem(f"{path}: no JSON: {error}") from None
    forms = [form for form in _FORMS if isinstance(data, dict) and form.is_ours(data)]
    if not forms:
        raise ImportProblem(
            f"{path}: no result file of ClawProBench (with scenarios and trials_per_scenario) or "
            "EvoClawBench (with baseline_results, preskill_results or postskill_results)"
        )
    digest = hashlib.sha256(raw).hexdigest()
    try:
        found = tuple(forms[0].records(data, path, digest))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ImportProblem(
            f"{path}: a result is not as its harness writes it ({type(error).__name__}: {error})"
        ) from None
    if not found:
        raise ImportProblem(f"{path}: it holds no result")
    return found


def write_run(folder: Path, records: Sequence[Record]) -> int:
    """Add ``records`` to the run in ``folder``, made if need be; how many were new.

    Importing a file again adds nothing. Raises ``OSError`` and ``PlanError``.
    """
    from pytest_agentbench.report.ledger import read

    known = read(folder / "ledger.jsonl").records
    write_plan(folder / "plan.json", map(_planned, records))
    ledger = Ledger(folder / "ledger.jsonl")
    new = [each for each in records if each.key not in known]
    for each in new:
        ledger.append(each.to_json(), wait=False)
        ledger.append(_closed(each), wait=each is new[-1])
    return len(new)


def _planned(record: Record) -> PlannedTrial:
    names = PlannedTrial.__dataclass_fields__
    return PlannedTrial(**{name: getattr(record, name) for name in names})


def _closed(record: Record) -> Mapping[str, Any]:
    from pytest_agentbench.record import closed_line

    return closed_line(record.key, ())
