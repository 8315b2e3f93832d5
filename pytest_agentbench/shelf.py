"""The skills of a run: where those that agents make are kept, and which ones others are given."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.settings import Settings
from pytest_agentbench.trial import ModelProfile, RuntimeProfile, Trial

if TYPE_CHECKING:
    from pytest_agentbench.record import Record
    from pytest_agentbench.redaction import Redactor
    from pytest_agentbench.skills.library import Entry, Library


class Shelf:
    """Of one process. The library is the one asked for, else the run folder's own."""

    def __init__(self, settings: Settings, run_dir: Path | None) -> None:
        self._settings = settings
        self._folder = Path(settings.skill_library) if settings.skill_library else None
        if self._folder is None and run_dir is not None:
            self._folder = run_dir / "skills"
        self._siblings: dict[tuple[str, str, str], tuple[Path, ...]] = {}
        #: What was not given, and why.
        self._refused: dict[tuple[str, str, str], tuple[str, ...]] = {}

    @functools.cached_property
    def library(self) -> Library | None:
        from pytest_agentbench.skills.library import Library

        return Library(self._folder) if self._folder is not None else None

    @functools.cached_property
    def _entries(self) -> tuple[Entry, ...]:
        """As they were when the run began: what it adds itself is for later runs."""
        return self.library.entries() if self.library is not None else ()

    def siblings(
        self, scenario: Scenario, runtime: RuntimeProfile, model: ModelProfile | None
    ) -> tuple[Path, ...]:
        """Skills that this runtime authored with this model on a sibling of the scenario."""
        if not self._settings.skill_library:
            return ()
        name = model.name if model else ""
        place = (scenario.id, runtime.name, name)
        if place not in self._siblings:
            from pytest_agentbench.skills.library import best_of_siblings
            from pytest_agentbench.skills.safety import findings

            found = best_of_siblings(
                self._entries,
                scenario=scenario.id,
                siblings=scenario.siblings,
                family=scenario.family,
                runtime=runtime.name,
                model=name,
            )
            against = {entry.folder: findings(entry.folder) for entry in found}
            self._siblings[place] = tuple(folder for folder in against if not against[folder])
            self._refused[place] = tuple(
                f"{folder.name}: {told[0]}" for folder, told in against.items() if told
            )
        return self._siblings[place]

    def findings(self, skill: Path) -> tuple[str, ...]:
        """What speaks against giving a skill that was just made to another agent."""
        from pytest_agentbench.skills.safety import findings

        return findings(skill)

    def lack(self, trial: Trial) -> str:
        """Why there is no skill to give in a trial, and what to do."""
        if trial.mode != "transfer":
            return f"the scenario has no skills, which mode {trial.mode} gives to the agent"
        place = (trial.scenario.id, trial.runtime.name, trial.model_name)
        if refused := self._refused.get(place):
            return f"the library's skill for it is refused: {'; '.join(refused)}"
        named = trial.scenario.siblings or (trial.scenario.family,)
        if not any(named):
            return "the scenario has neither siblings nor a family, whose skills it could be given"
        return (
            f"the library has no skill of {trial.runtime.name} for a sibling "
            f"({', '.join(named)}); fill it with --mode=preskill or --mode=postskill"
        )

    def add(
        self, trial: Trial, record: Record, made: Iterable[tuple[str, Path]], redactor: Redactor
    ) -> None:
        """Keep what agents made in a trial: phase and folder of each skill. Raises ``OSError``."""
        from pytest_agentbench import __version__
        from pytest_agentbench.skills.harvest import look
        from pytest_agentbench.skills.library import Entry

        deviations = {
            (phase.name, skill.name): skill for phase in record.phases for skill in phase.made
        }
        for phase, folder in made:
            if self.library is None:
                return
            told = deviations.get((phase, folder.name))
            entry = Entry(
                scenario=trial.scenario.id,
                family=trial.scenario.family,
                runtime=trial.runtime.name,
                runtime_version=str(record.observed.get("runtime_version", "")),
                model=trial.model_name,
                mode=trial.mode,
                phase=phase,
                index=trial.index,
                key=trial.key,
                created=record.ended,
                plugin=__version__,
                skill=told or look(folder),
                score=record.grade.score if record.grade and record.graded else None,
            )
            self.library.add(entry, folder, redactor)
