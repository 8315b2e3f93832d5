"""Values out of files that others wrote."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Usage
from pytest_agentbench.flag import Flag
from pytest_agentbench.grade import Grade
from pytest_agentbench.record import PlannedTrial, Record, ScenarioFacts
from pytest_agentbench.status import Status


class ImportProblem(Exception):
    """A file that holds no results that can be read; the message is shown as it stands."""


def number(value: Any, default: float = 0.0) -> float:
    """A finite number, or ``default``."""
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known and math.isfinite(value) else default


def count(value: Any) -> int | None:
    """A whole number that is known: these files have 0 for what is unknown, too."""
    return int(value) if number(value) > 0 else None


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def usage(data: Mapping[str, Any], cost: float) -> Usage:
    """Tokens and US dollars; a cost of 0 is not known to be one, nor is 0 of all tokens."""
    said = {name: int(number(data[name])) for name in _TOKENS if name in data}
    return Usage(
        **(said if any(said.values()) else {}),
        requests=count(data.get("request_count")),
        cost_usd=cost or None,
    ).believable


def record(
    *,
    source: Path,
    digest: str,
    scenario: ScenarioFacts,
    runtime: str,
    model: str,
    mode: str,
    index: int,
    status: Status,
    grade: Grade | None,
    **values: Any,
) -> Record:
    """A record of a result in ``source``, whose SHA-256 is ``digest``, flagged as imported."""
    label = f"{runtime}-{model}-{mode}-t{index}"
    lock = {"imported": digest}
    place = f"{digest}/{scenario.id}/{label}"
    trial = PlannedTrial(
        key=hashlib.sha256(place.encode()).hexdigest(),
        node_id=f"{source.name}::{scenario.id}[{label}]",
        scenario=scenario,
        runtime=runtime,
        adapter=runtime,
        model=model,
        mode=mode,
        index=index,
        lock=lock,
    )
    return trial.end(status, grade=grade, flags=(Flag.IMPORTED,), closed=True, **values)
