"""Keeps what the finished phases of a trial left, so that a run that was stopped goes on after them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.files import remove
from pytest_agentbench.phase_record import PhaseFacts
from pytest_agentbench.redaction import Redactor
from pytest_agentbench.skills.contents import digest, files
from pytest_agentbench.status import TrialFault

FACTS, EVIDENCE, SKILLS = "phase.json", "first_run.json", "skills"
#: Says that the trial has its score: whoever runs it again begins with the first phase.
DONE = ".done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a phase left for those after it: skills by their folders, and how the run went."""

    facts: PhaseFacts
    skills: tuple[Path, ...] = ()
    evidence: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The phases of one trial in ``folder``, each a folder of its own; nowhere if that is None."""

    folder: Path | None
    redactor: Redactor = field(default_factory=Redactor)

    def clear(self) -> None:
        """Forget all. Raises ``OSError``."""
        if self.folder is not None:
            remove(self.folder)

    def finish(self) -> None:
        """The trial has its score: nothing goes on from here. Raises ``OSError``."""
        if self.folder is not None and self.folder.is_dir():
            (self.folder / DONE).touch()

    def keep(self, left: Left, artefacts: Path | None = None) -> None:
        """Keep a phase, whole or not at all, and what lies in ``artefacts``. Raises ``OSError``.

        Secrets are taken out. Where there were any, the phase cannot be gone on from: later phases
        would see something else than they would have.
        """
        if self.folder is None:
            return
        if (self.folder / DONE).exists():
            self.clear()
        new = self.folder / f".new-{left.facts.name}"
        remove(new)
        new.mkdir(parents=True)
        if artefacts is not None:
            shutil.copytree(artefacts, new, dirs_exist_ok=True)
        clean = self.redactor.data(left.evidence)
        same = clean == left.evidence
        (new / EVIDENCE).write_bytes(clean)
        for skill in left.skills:
            same &= self._copy(skill, new / SKILLS / skill.name)
        told = {"complete": same, "phase": left.facts.to_json()}
        (new / FACTS).write_text(self.redactor.json(told) + "\n", "utf-8")
        place = self.folder / left.facts.name
        remove(place)
        new.rename(place)

    def load(self, name: str) -> Left | None:
        """A phase that was kept and can be gone on from, just as it was."""
        if self.folder is None or (self.folder / DONE).exists():
            return None
        if not (self.folder / name / FACTS).is_file():
            return None
        place = self.folder / name
        try:
            told: Mapping[str, Any] = json.loads((place / FACTS).read_text("utf-8"))
            facts = PhaseFacts.from_json(told["phase"])
            if not told["complete"]:
                return None
            kept = [skill for skill in facts.made if not skill.refused]
            skills = tuple(place / SKILLS / skill.name for skill in kept)
            whole = all(digest(s) == m.sha256 for s, m in zip(skills, kept, strict=True))
            evidence = (place / EVIDENCE).read_bytes()
        except (OSError, ValueError, LookupError, TypeError, TrialFault):
            return None  # torn, or of another version: the phase is run again
        return Left(facts=facts, skills=skills, evidence=evidence) if whole else None

    def _copy(self, skill: Path, target: Path) -> bool:
        """Whether the copy is the same."""
        same = True
        for relative in files(skill):
            content = (skill / relative).read_bytes()
            clean = self.redactor.data(content)
            same &= clean == content
            copy = target / relative
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(clean)
            shutil.copymode(skill / relative, copy)
        return same
