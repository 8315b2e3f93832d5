"""A record without secrets."""

from __future__ import annotations

from dataclasses import replace

from pytest_agentbench.grade import Grade
from pytest_agentbench.plain import plain
from pytest_agentbench.record import Record
from pytest_agentbench.redaction import Redactor


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
    return replace(grade, checks=tuple(checks), notes=redactor.text(grade.notes))
