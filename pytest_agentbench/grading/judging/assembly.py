"""From a jury to a panel: judges that can be asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.grading.judging.cache import Cache
from pytest_agentbench.grading.judging.model_judge import ModelJudge
from pytest_agentbench.grading.judging.panel import Panel
from pytest_agentbench.grading.judging.speaking import Patience
from pytest_agentbench.jury import VERDICTS, Jury
from pytest_agentbench.trial import ModelProfile

if TYPE_CHECKING:
    from pytest_agentbench.gateway.client import Gateway


def assemble(jury: Jury, gateway: Callable[[], Gateway], run_dir: Path | None) -> Panel:
    """The panel of a jury; what it says is kept in the jury's own folder, else in the run's."""
    folder = jury.cache or (run_dir / VERDICTS if run_dir else None)
    patience = dataclasses.replace(Patience(), seconds=jury.seconds)
    return Panel(
        judges=tuple(
            ModelJudge(
                profile=profile,
                patience=patience,
                cache=Cache(folder) if folder else None,
                mute=_mute(profile),
            )
            for profile in jury.profiles
        ),
        gateway=gateway,
        vote=jury.vote,
        places=jury.places,
    )


def _mute(profile: ModelProfile) -> str:
    """Why a judge can only repeat what it said, "" if it can be asked: a replay needs no key."""
    if not profile.replayed:
        return ""
    from pytest_agentbench.gateway.registry import missing_keys

    for name in missing_keys(profile):
        return (
            f"the recording lacks one, and the environment variable {name}, with which it could be "
            "asked, is not set"
        )
    return ""
