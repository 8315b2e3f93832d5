"""What an apprentice writes when it is asked for a skill: the option ``lesson`` of its profile."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: A lesson's files, their paths below the folder of skills and their texts.
Lesson = Mapping[str, str]
#: Bytes of all files of a lesson, which travel with the plan of each run.
LIMIT = 256 << 10
_NAME = re.compile(r"^name:[ \t]*[\"']?([a-z0-9-]+)", re.MULTILINE)


class LessonError(Exception):
    """The option makes no sense; the message says why."""


def lessons(value: Any) -> dict[str, Lesson]:
    """Lessons by the id of their scenario; "" is for every other.

    ``value`` is the text of a ``SKILL.md``, the path of one, whose folder is taken along, or a table
    of such by scenario. Raises ``LessonError``.
    """
    if isinstance(value, Mapping):
        return {str(scenario): _lesson(each) for scenario, each in value.items()}
    return {"": _lesson(value)}


def _lesson(value: Any) -> Lesson:
    if not isinstance(value, str):
        raise LessonError(
            f"lesson must be the text or the path of a SKILL.md, or a table of such by scenario, "
            f"not {value!r}"
        )
    if "\n" in value:
        found = _NAME.search(value)
        return {f"{found[1] if found else 'lesson'}/SKILL.md": value}
    path = Path(value)
    folder = (path.parent if path.name == "SKILL.md" else path).resolve()
    if not (folder / "SKILL.md").is_file():
        raise LessonError(
            f"lesson {value!r} is no SKILL.md and no folder with one; look at its path"
        )
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and _wanted(file)]
    if sum(file.stat().st_size for file in files) > LIMIT:
        raise LessonError(f"lesson {value!r} has more than {LIMIT >> 10} KiB; leave files out")
    try:
        return {
            file.relative_to(folder.parent).as_posix(): file.read_text("utf-8") for file in files
        }
    except UnicodeDecodeError as error:
        raise LessonError(f"lesson {value!r} has a file that is not UTF-8 text: {error}") from None


def _wanted(file: Path) -> bool:
    return not file.is_symlink() and file.parent.name != "__pycache__"
