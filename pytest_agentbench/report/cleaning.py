"""A record without secrets."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from pytest_agentbench.grade import CriterionVerdict, Grade, RubricGrade, Vote
from pytest_agentbench.plain import plain
from pytest_agentbench.record import Record
from pytest_agentbench.redaction import Redactor

T = TypeVar("T", CriterionVerdict, Vote)


def clean(record: Record, redactor: Redactor) -> Record:
    """``record`` with its texts redacted.

    Only what people read: what a trial is known and counted by stays, though it may be a word that
    is somebody's password too.
    """
    changed = {
        "message": redactor.text(record.message),
        "attempts": tuple(replace(a, message=redactor.text(a.message)) for a in record.attempts),
        "observed": redactor.value(plain(record.observed)),
    }
    grade = record.grade and _grade(record.grade, redactor)
    return replace(record, grade=grade, **changed)


def _grade(grade: Grade, redactor: Redactor) -> Grade:
    checks = []
    for check in grade.checks:
        texts = (check.detail, check.expected, check.found)
        detail, expected, found = map(redactor.text, texts)
        if (detail, expected, found) != texts:
            check = replace(check, detail=detail, expected=expected, found=found)
        checks.append(check)
    rubric = grade.rubric and _rubric(grade.rubric, redactor)
    notes = redactor.text(grade.notes)
    return replace(grade, checks=tuple(checks), notes=notes, rubric=rubric)


def _rubric(rubric: RubricGrade, redactor: Redactor) -> RubricGrade:
    def said(each: T) -> T:
        quotes = tuple(map(redactor.text, each.quotes))
        return replace(each, quotes=quotes, reason=redactor.text(each.reason))

    verdicts = (
        replace(said(each), judges=tuple(map(said, each.judges))) for each in rubric.verdicts
    )
    return replace(rubric, verdicts=tuple(verdicts), message=redactor.text(rubric.message))
