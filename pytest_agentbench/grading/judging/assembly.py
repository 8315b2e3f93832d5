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
from pytest_agentbench.jury import Jury

if TYPE_CHECKING:
    from pytest_agentbench.gateway.client import Gateway

#: The folder of verdicts in a run's folder.
FOLDER = "verdicts"


def assemble(jury: Jury, gateway: Callable[[], Gateway], run_dir: Path | None) -> Panel:
    """The panel of a jury; what it says is kept in the jury's own folder, else in the run's."""
    folder = jury.cache or (run_dir / FOLDER if run_dir else None)
    patience = dataclasses.replace(Patience(), seconds=jury.seconds)
    return Panel(
        judges=tuple(
            ModelJudge(profile=profile, patience=patience, cache=Cache(folder) if folder else None)
            for profile in jury.profiles
        ),
        gateway=gateway,
        vote=jury.vote,
        places=jury.places,
    )
