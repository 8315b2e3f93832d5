"""What scenarios there are: one entry a scenario, and how often each label occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.scenario.model import DIFFICULTIES, DIMENSIONS, Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A scenario in numbers. ``criteria`` are those of its rubric, ``code`` says that Python grades."""

    id: str
    file: str
    dimension: str
    difficulty: str
    policy: str
    tags: tuple[str, ...]
    checks: int
    code: bool
    probes: int
    skills: int
    criteria: int


def entry(scenario: Scenario, file: Path) -> Entry:
    rubric = scenario.atomic_rubric
    return Entry(
        id=scenario.id,
        file=file.as_posix(),
        dimension=scenario.dimension,
        difficulty=scenario.difficulty,
        policy=scenario.policy,
        tags=scenario.tags,
        checks=len(scenario.checks),
        code=scenario.grader is not None,
        probes=len(scenario.probes),
        skills=len(scenario.skills),
        criteria=len(rubric.criteria) if rubric else 0,
    )


def counts(entries: Iterable[Entry]) -> Mapping[str, Mapping[str, int]]:
    """How many scenarios have each dimension, difficulty and tag: tags by number, then by name."""
    found = tuple(entries)
    dimensions = Counter(each.dimension for each in found)
    difficulties = Counter(each.difficulty for each in found)
    tags = Counter(tag for each in found for tag in each.tags)
    return {
        "dimension": {name: dimensions[name] for name in (*DIMENSIONS, "") if dimensions[name]},
        "difficulty": {name: difficulties[name] for name in DIFFICULTIES if difficulties[name]},
        "tag": dict(sorted(tags.items(), key=lambda each: (-each[1], each[0]))),
    }
