"""The phases of a trial in result files of EvoClawBench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_agentbench.importing.reading import mapping, number, usage
from pytest_agentbench.phase_record import PhaseFacts
from pytest_agentbench.skill import MadeSkill, Mutation, Role
from pytest_agentbench.status import Status

#: Of each mode: the name of a phase here, what it is for, and its name in those files.
_STAGES: Mapping[str, tuple[tuple[str, Role, str], ...]] = {
    "preskill": (
        ("preskill_author", "author", "skill_generation"),
        ("preskill_execute", "execute", "execution"),
    ),
    "postskill": (
        ("postskill_first", "execute", "first_execution"),
        ("postskill_summary", "summarise", "skill_summary"),
        ("postskill_second", "execute", "second_execution"),
    ),
}


def phases(mode: str, entry: Mapping[str, Any], run: int) -> tuple[PhaseFacts, ...]:
    """Those of the ``run``-th run, counted from 0; none where the file does not have all of them.

    Exports leave them out. Which run made which skill is told only where there is one run.
    """
    results = [mapping(each) for each in entry.get("phase_results") or ()]
    found = []
    for name, role, theirs in _STAGES.get(mode, ()):
        own = [mapping(each.get("result")) for each in results if each.get("phase") == theirs]
        if run >= len(own):
            return ()
        last = name == _STAGES[mode][-1][0]
        score, strict = _first(entry, run) if role == "execute" and not last else (None, None)
        found.append(
            _phase(
                own[run],
                name=name,
                role=role,
                graded=last,
                made=_made(entry) if role != "execute" and len(own) == 1 else (),
                mutation=_mutation(own[run]) if last else None,
                score=score,
                strict=strict,
            )
        )
    return tuple(found)


def status_of(run: Mapping[str, Any]) -> Status:
    """How a run of theirs ended."""
    if run.get("timed_out") or run.get("status") == "timeout":
        return Status.AGENT_TIMEOUT
    return Status.COMPLETED if run.get("status", "success") == "success" else Status.AGENT_ERROR


def _phase(run: Mapping[str, Any], **values: Any) -> PhaseFacts:
    spent = mapping(run.get("usage"))
    return PhaseFacts(
        status=status_of(run),
        seconds=number(run.get("execution_time")),
        limit=0.0,
        usage=usage(spent, number(spent.get("cost_usd"))),
        **values,
    )


def _first(entry: Mapping[str, Any], run: int) -> tuple[float | None, bool | None]:
    grades = list(entry.get("first_pass_grades") or ())
    if run >= len(grades):
        return None, None
    grade = mapping(grades[run])
    score = number(grade.get("score")) / (number(grade.get("max_score")) or 1.0)
    return score, score >= 1


def _made(entry: Mapping[str, Any]) -> tuple[MadeSkill, ...]:
    """Each with the heuristic of its trial, which those files have of all together."""
    skills = [mapping(each) for each in entry.get("created_skills") or ()]
    quality = number(entry.get("skill_quality_score"))
    return tuple(
        MadeSkill(
            name=str(skill.get("name") or ""),
            files=1 + _count(skill, "scripts_count") + _count(skill, "references_count"),
            bytes=0,
            sha256="",
            characters=_count(skill, "content_length"),
            scripts=_count(skill, "scripts_count"),
            references=_count(skill, "references_count"),
            quality=quality,
        )
        for skill in skills
    )


def _count(skill: Mapping[str, Any], name: str) -> int:
    return int(number(skill.get(name)))


def _mutation(run: Mapping[str, Any]) -> Mutation:
    before, after = mapping(run.get("skill_hash_before")), mapping(run.get("skill_hash_after"))
    return Mutation(
        added=tuple(sorted(after.keys() - before.keys())),
        edited=tuple(sorted(path for path in before.keys() & after if before[path] != after[path])),
        deleted=tuple(sorted(before.keys() - after.keys())),
    )
