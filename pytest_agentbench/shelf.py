"""The skills of a run: where those that agents make are kept, and which ones others are given."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_agentbench import modes
from pytest_agentbench.modes import Mode
from pytest_agentbench.scenario.model import Scenario
from pytest_agentbench.settings import Settings
from pytest_agentbench.trial import ModelProfile, RuntimeProfile, Trial

if TYPE_CHECKING:
    from pytest_agentbench.record import Record
    from pytest_agentbench.redaction import Redactor
    from pytest_agentbench.skills.library import Entry, Library

#: Scenario, runtime, model and mode.
Place = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a trial on a sibling left for others: none, or all that nothing speaks against.

    ``refused`` says what was better and is not given, and why; ``late`` that the library has got
    something since the run began with nothing.
    """

    entries: tuple[Entry, ...] = ()
    refused: tuple[str, ...] = ()
    late: bool = False

    @property
    def skills(self) -> tuple[Path, ...]:
        return tuple(entry.folder for entry in self.entries)

    def to_json(self) -> dict[str, Any]:
        """Whose it is, for a record."""
        of = self.entries[0]
        return {
            **{name: getattr(of, name) for name in ("scenario", "mode", "index", "score", "key")},
            "skills": [entry.id for entry in self.entries],
            "refused": list(self.refused),
        }


class Shelf:
    """Of one process. The library is the one asked for, else the run folder's own."""

    def __init__(self, settings: Settings, run_dir: Path | None) -> None:
        self._settings = settings
        self._run_dir = run_dir
        self._folder = Path(settings.skill_library) if settings.skill_library else None
        if self._folder is None and run_dir is not None:
            self._folder = run_dir / "skills"
        self._choices: dict[Place, Choice] = {}

    @functools.cached_property
    def library(self) -> Library | None:
        from pytest_agentbench.skills.library import Library

        return Library(self._folder) if self._folder is not None else None

    @functools.cached_property
    def _entries(self) -> tuple[Entry, ...]:
        """As they were when this process began: what it adds itself is for later runs."""
        return self.library.entries() if self.library is not None else ()

    @functools.cached_property
    def _planned(self) -> dict[Place, set[str]]:
        """What the run's plan declares of modes, if it was begun before."""
        path = self._run_dir / "plan.json" if self._run_dir else None
        if path is None or not path.exists() or self._settings.accept_changes:
            return {}
        from pytest_agentbench.report.plan import read_plan

        found: dict[Place, set[str]] = {}
        for trial in read_plan(path).trials:
            place = (trial.scenario.id, trial.runtime, trial.model, trial.mode)
            found.setdefault(place, set()).add(trial.lock.get("mode", ""))
        return found

    def siblings(
        self, mode: Mode, scenario: Scenario, runtime: RuntimeProfile, model: ModelProfile | None
    ) -> tuple[Path, ...]:
        """Skills that this runtime authored with this model on a sibling, if ``mode`` gives them.

        They are the best that nothing speaks against; or, in a run that was begun before, what it
        was begun with, which is known by the lock of its trials.
        """
        if not mode.transfers or not self._settings.skill_library:
            return ()
        place = (scenario.id, runtime.name, model.name if model else "", mode.name)
        if place not in self._choices:
            self._choices[place] = self._chosen(mode, scenario, place)
        return self._choices[place].skills

    def _chosen(self, mode: Mode, scenario: Scenario, place: Place) -> Choice:
        planned, best = self._planned.get(place), None
        for choice in self._among(scenario, *place[1:3]):
            best = best or choice
            phases = modes.phases(mode, scenario, siblings=choice.skills)
            if planned is None or modes.declared(phases, scenario) in planned:
                return choice if choice is best or choice.entries else replace(choice, late=True)
        assert best is not None
        return best

    def _among(self, scenario: Scenario, runtime: str, model: str) -> Iterator[Choice]:
        """The best first, and none in the end: a run may have begun with nothing."""
        from pytest_agentbench.skills.library import of_siblings

        refused: tuple[str, ...] = ()
        for trial in of_siblings(
            self._entries,
            scenario=scenario.id,
            siblings=scenario.siblings,
            family=scenario.family,
            runtime=runtime,
            model=model,
        ):
            against = {entry.id: self.findings(entry.folder) for entry in trial}
            refused += tuple(f"{e.skill.name}: {against[e.id][0]}" for e in trial if against[e.id])
            if given := tuple(entry for entry in trial if not against[entry.id]):
                yield Choice(entries=given, refused=refused)
        yield Choice(refused=refused)

    def source(self, trial: Trial) -> dict[str, Any]:
        """Whose skills a trial is given, for the field ``observed`` of its record."""
        choice = self._choices.get(_place(trial))
        return {"transfer": choice.to_json()} if choice and choice.entries else {}

    def findings(self, skill: Path) -> tuple[str, ...]:
        """What speaks against giving a skill to another agent."""
        from pytest_agentbench.skills.safety import findings

        return findings(skill)

    def lack(self, trial: Trial) -> str:
        """Why there is no skill to give in a trial, and what to do."""
        choice = self._choices.get(_place(trial))
        if choice is None:
            return f"the scenario has no skills, which mode {trial.mode} gives to the agent"
        if choice.late:
            return (
                "the library had no skill for it when this run began, and has one now: choose "
                "another --run-dir, or give --accept-changes"
            )
        if choice.refused:
            return f"the library's skill for it is refused: {'; '.join(choice.refused)}"
        named = trial.scenario.siblings or (trial.scenario.family,)
        if not any(named):
            return "the scenario has neither siblings nor a family, whose skills it could be given"
        where = "the library"
        if self._folder is not None and not self._folder.is_dir():
            where = f"the library {self._folder} does not exist, so it"
        return (
            f"{where} has no skill of {trial.runtime.name} for a sibling "
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


def _place(trial: Trial) -> Place:
    return (trial.scenario.id, trial.runtime.name, trial.model_name, trial.mode)
