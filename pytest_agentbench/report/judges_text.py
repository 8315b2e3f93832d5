"""Who judges a run, as its header says it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_agentbench.grading.judging.calibration import FOLDER, standing
from pytest_agentbench.grading.judging.family import shared
from pytest_agentbench.grading.judging.panel import Panel
from pytest_agentbench.trial import ModelProfile


def judged_by(panel: Panel, models: Sequence[ModelProfile], root: Path) -> list[str]:
    """The judges, what is known of them, and which are of the family of a model under test."""
    judges = [judge.model for judge in panel.judges]
    tested = [str(each.options.get("model", each.name)) for each in models]
    vote = f" ({panel.vote})" if len(judges) > 1 else ""
    return [
        f"judged by {', '.join(panel.names)}{vote}",
        *(standing(judge, root / FOLDER)[0] for judge in panel.judges),
        *(
            f"warning: the judge {judge} and {model}, which is under test, are both of the family "
            f"{family}: a judge may favour its own"
            for judge, model, family in shared(judges, tested)
        ),
    ]
