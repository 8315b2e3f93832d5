"""What the command line says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Asked:
    """The command line's part; None or empty is *not said*."""

    runtime: Sequence[str] = ()
    model: Sequence[str] = ()
    mode: Sequence[str] = ()
    trials: int | None = None
    sandbox: str | None = None
    gate: str | None = None
    timeout_multiplier: float | None = None
    timeout_floor: float | None = None
    keep_workspace: str | None = None
    dry_run: bool = False
    rerun: Sequence[str] = ()
    accept_changes: bool = False
    view: str | None = None
    exposure: str | None = None
    progress: str | None = None
    scoring: str | None = None
    profile: str | None = None
    selector: str | None = None
    skill_mutation: str | None = None
    skill_check: str | None = None
    skill_library: str | None = None
    transfer: bool = False
    shard: str | None = None
    claim: bool = False
    record: str | None = None
    replay: str | None = None
    judge: Sequence[str] = ()
    judge_vote: str | None = None
    judge_concurrency: int | None = None
    judge_cache: str | None = None
