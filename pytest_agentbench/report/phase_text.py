"""The phases of a trial as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_agentbench.phase_record import PhaseFacts
from pytest_agentbench.record import Record
from pytest_agentbench.skill import GivenSkill, MadeSkill
from pytest_agentbench.text import escape

_WIDTH = 200


def phases(record: Record) -> list[str]:
    """Lines for each phase; none of a trial of one phase in which skills are no part."""
    if len(record.phases) == 1 and record.phases[0].mutation is None:
        return []
    return [line for phase in record.phases for line in _phase(phase)]


def _phase(phase: PhaseFacts) -> Iterator[str]:
    tokens = phase.usage.total_tokens
    told = [
        str(phase.status),
        f"{phase.seconds:.1f} s of {phase.limit:g} s",
        f"{phase.steps} steps",
        f"{'unknown' if tokens is None else f'{tokens:,}'} tokens",
    ]
    if phase.score is not None:
        told.append(f"score {phase.score:.3f}")
    told += ["graded"] * phase.graded + ["from an earlier session"] * phase.kept
    yield f"{escape(phase.name)} ({phase.role}): {', '.join(told)}"
    if phase.message:
        yield f"    {escape(phase.message, _WIDTH)}"
    for attempt in phase.attempts:
        yield f"    tried before: {attempt.status}: {escape(attempt.message, _WIDTH)}"
    for given in phase.given:
        yield f"    given {_given(given)}"
    for made in phase.made:
        yield from _made(made)
    for violation in phase.violations:
        yield f"    against what it was told: {escape(violation, _WIDTH)}"


def _given(skill: GivenSkill) -> str:
    facts = {"shown": skill.shown, "opened": skill.opened, "used": skill.used}
    words = [
        f"{name} unknown" if value is None else name if value else f"not {name}"
        for name, value in facts.items()
    ]
    seeded = " (the harness's)" if skill.seeded else ""
    return f"{escape(skill.name)}{seeded}: {', '.join(words)}"


def _made(skill: MadeSkill) -> Iterator[str]:
    size = f"{skill.files} files, {skill.bytes:,} bytes, form {skill.quality:g}"
    told = f"refused: {escape(skill.refused, _WIDTH)}" if skill.refused else size
    yield f"    made {escape(skill.name)}: {told}"
    for deviation in skill.deviations:
        yield f"        {escape(deviation, _WIDTH)}"
