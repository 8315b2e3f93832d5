"""A library of skills that agents authored: a folder, with where each of them comes from."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.files import remove
from pytest_agentbench.plain import plain
from pytest_agentbench.redaction import Redactor
from pytest_agentbench.skill import MadeSkill
from pytest_agentbench.skills.contents import files
from pytest_agentbench.skills.harvest import look

ENTRY = "entry.json"
SCHEMA = "1.0"
_UNSAFE = re.compile(r"[^\w.@+-]")


class LibraryError(Exception):
    """A library that cannot be used as asked; the message is for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A skill and where it comes from.

    ``key`` is that of the trial in which it was authored, ``score`` what that trial came to (None
    without a grade), ``created`` a Unix time. ``disabled`` says why nobody gets it, "" if people do.
    """

    scenario: str
    family: str
    runtime: str
    runtime_version: str
    model: str
    mode: str
    phase: str
    index: int
    key: str
    created: float
    plugin: str
    skill: MadeSkill
    score: float | None = None
    disabled: str = ""
    place: Path = field(default=Path(), compare=False)

    @property
    def id(self) -> str:
        """What it is called by: the beginning of its content's hash, and of its trial's key."""
        return f"{self.skill.sha256[:12]}-{self.key[:8]}"

    @property
    def folder(self) -> Path:
        return self.place / self.skill.name

    def to_json(self) -> dict[str, Any]:
        names = (name for name in self.__dataclass_fields__ if name != "place")
        return {"schema": SCHEMA, **{name: plain(getattr(self, name)) for name in names}}


@dataclass(frozen=True, slots=True)
class Library:
    """The entries below ``root``, which need not exist: scenario/runtime/model/entry."""

    root: Path

    def add(self, entry: Entry, skill: Path, redactor: Redactor) -> Entry:
        """Copy a skill, without secrets. The same one of the same trial is there once.

        Raises ``OSError``.
        """
        parent = self.root / _safe(entry.scenario) / _safe(entry.runtime) / _safe(entry.model)
        parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=parent))
        try:
            for relative in files(skill):
                copy = new / skill.name / relative
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(redactor.data((skill / relative).read_bytes()))
                shutil.copymode(skill / relative, copy)
            seen = look(new / skill.name)
            kept = dataclasses.replace(seen, deviations=entry.skill.deviations)
            entry = dataclasses.replace(entry, skill=kept)
            entry = dataclasses.replace(entry, place=parent / entry.id)
            _write(new / ENTRY, entry)
            remove(entry.place)
            new.rename(entry.place)
        finally:
            remove(new)
        return entry

    def entries(self) -> tuple[Entry, ...]:
        """All that can be read, in the order of scenario, runtime, model and id."""
        found = (_read(path) for path in sorted(self.root.glob(f"*/*/*/*/{ENTRY}")))
        known = (entry for entry in found if entry is not None)
        return tuple(sorted(known, key=lambda e: (e.scenario, e.runtime, e.model, e.id)))

    def entry(self, name: str) -> Entry:
        """The one whose id begins with ``name``. Raises ``LibraryError``."""
        every = self.entries()
        found = [entry for entry in every if entry.id.startswith(name)] if name else []
        if len(found) == 1:
            return found[0]
        problem = "are the beginning of several" if found else "is not there"
        known = ", ".join(entry.id for entry in (found or every)[:10]) or "none"
        raise LibraryError(f"skill {name!r} {problem}; there are: {known}")

    def disable(self, name: str, reason: str) -> Entry:
        """Let nobody have it, or with reason "" have it again. Raises ``LibraryError``."""
        entry = dataclasses.replace(self.entry(name), disabled=reason)
        _write(entry.place / ENTRY, entry)
        return entry


def of_siblings(
    entries: Iterable[Entry],
    *,
    scenario: str,
    siblings: Iterable[str],
    family: str,
    runtime: str,
    model: str,
) -> tuple[tuple[Entry, ...], ...]:
    """Skills of trials on siblings, those of a trial together: highest score first, then newest.

    Siblings are the scenarios named, or else those of the same family; never the scenario itself.
    """
    named = set(siblings)
    found: dict[tuple[float, float, str], list[Entry]] = {}
    for entry in entries:
        if (
            entry.scenario != scenario
            and (entry.scenario in named if named else family and entry.family == family)
            and (entry.runtime, entry.model) == (runtime, model)
            and not entry.disabled
        ):
            # A trial that was run again, in another run for example, is another one.
            place = (-1.0 if entry.score is None else entry.score, entry.created, entry.key)
            found.setdefault(place, []).append(entry)
    return tuple(tuple(found[place]) for place in sorted(found, reverse=True))


def _write(path: Path, entry: Entry) -> None:
    new = path.with_name(f".{path.name}.new")
    new.write_text(json.dumps(entry.to_json(), indent=1) + "\n", "utf-8")
    os.replace(new, path)  # noqa: PTH105 (atomic)


def _read(path: Path) -> Entry | None:
    try:
        data = json.loads(path.read_text("utf-8"))
        if str(data["schema"]).partition(".")[0] != SCHEMA.partition(".")[0]:
            return None
        skill = data["skill"]
        made = MadeSkill(**{**skill, "deviations": tuple(skill["deviations"])})
        known = {name: data[name] for name in Entry.__dataclass_fields__ if name in data}
        entry = Entry(**{**known, "skill": made, "place": path.parent})
    except (OSError, ValueError, LookupError, TypeError):
        return None
    # A name that leads elsewhere would have another folder placed.
    return entry if entry.folder.parent == path.parent and entry.folder.is_dir() else None


def _safe(name: str) -> str:
    return _UNSAFE.sub("_", name).lstrip(".") or "-"
