"""Skills that an agent made: found, copied without what could harm, and looked at."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pytest_agentbench.files import read_regular, remove
from pytest_agentbench.skill import MadeSkill
from pytest_agentbench.skills.contents import digest
from pytest_agentbench.skills.form import SKILL, SkillText, deviations, quality, read_skill
from pytest_agentbench.text import escape

#: What of one skill is kept: files, bytes of each, bytes of all; and skills of one phase.
FILES, FILE_BYTES, BYTES, SKILLS = 200, 1 << 20, 4 << 20, 20
_DEPTH = 8
_NAME_BYTES = 100
_TOLD = 20


def harvest(
    folder: Path, into: Path, seeded: frozenset[str] = frozenset()
) -> tuple[MadeSkill, ...]:
    """Copy the skills that lie in ``folder`` below ``into``, made anew; ``seeded`` are not made.

    A skill is a folder in ``folder`` with ``SKILL.md``. Links are never followed; they, pipes and
    what is beyond the limits are left out, which is told as a deviation. What cannot be copied at
    all is listed as refused. Raises ``OSError`` for trouble of the harness's.
    """
    remove(into)
    into.mkdir(parents=True, mode=0o700)
    made: list[MadeSkill] = []
    for name in _names(folder, seeded):
        if len(made) == SKILLS:
            made.append(_refused(f"and more than {SKILLS}", "no more skills are kept"))
            break
        made.append(_take(folder / name, into / name))
    return tuple(made)


def _names(folder: Path, seeded: frozenset[str]) -> Iterator[str]:
    if folder.is_symlink():
        return
    try:
        found = sorted(os.fsencode(name) for name in os.listdir(folder))  # noqa: PTH208 (names)
    except OSError:
        return
    for raw in found:
        name = os.fsdecode(raw)
        path = folder / name
        if name not in seeded and path.is_dir() and not path.is_symlink():
            yield name


def _take(skill: Path, target: Path) -> MadeSkill:
    shown = escape(os.fsencode(skill.name).decode("utf-8", "backslashreplace"), _NAME_BYTES)
    if len(os.fsencode(skill.name)) > _NAME_BYTES or shown != skill.name:
        return _refused(shown, "its name cannot be kept")
    if not _regular(skill / SKILL):
        return _refused(shown, f"it has no {SKILL}")
    left_out = list(_copy(skill, target))
    if not (target / SKILL).is_file():
        remove(target)
        return _refused(shown, f"its {SKILL} cannot be kept: {left_out[0]}")
    return look(target, tuple(left_out))


def look(skill: Path, left_out: tuple[str, ...] = ()) -> MadeSkill:
    """What is to be said of the skill in a folder of regular files. Raises ``TrialFault``."""
    data = (skill / SKILL).read_bytes()
    text: SkillText = read_skill(data)
    kept = [path for path in skill.rglob("*") if path.is_file()]
    scripts, references = (_entries(skill / part) for part in ("scripts", "references"))
    characters = len(data.decode("utf-8", "replace"))
    return MadeSkill(
        name=skill.name,
        files=len(kept),
        bytes=sum(path.stat().st_size for path in kept),
        sha256=digest(skill),
        characters=characters,
        scripts=scripts,
        references=references,
        quality=quality(text, characters, scripts, references),
        deviations=(*deviations(text, skill.name), *left_out[:_TOLD]),
    )


def _copy(skill: Path, target: Path) -> Iterator[str]:
    """Copy what may be copied; what may not, in words."""
    files = total = 0
    pending = [""]
    while pending:
        folder = pending.pop(0)
        try:
            with os.scandir(skill / folder) as listing:
                children = sorted(listing, key=lambda child: os.fsencode(child.name))
        except OSError as error:
            yield f"left out {_shown(folder)}: {error.strerror}"
            continue
        for child in children:
            path = f"{folder}/{child.name}" if folder else child.name
            mode = child.stat(follow_symlinks=False).st_mode
            problem = _problem(path, mode)
            if not problem and stat.S_ISDIR(mode):
                pending.append(path)
                continue
            content = b"" if problem else _content(skill / path)
            if not problem and content is None:
                problem = "cannot be read"
            elif not problem and len(content or b"") > FILE_BYTES:
                problem = f"has more than {FILE_BYTES >> 20} MiB"
            elif not problem and (files == FILES or total + len(content or b"") > BYTES):
                problem = f"is beyond {FILES} files or {BYTES >> 20} MiB"
            if problem or content is None:
                yield f"left out {_shown(path)}: {problem}"
                continue
            files, total = files + 1, total + len(content)
            copy = target / path
            copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            copy.write_bytes(content)
            copy.chmod(0o755 if mode & stat.S_IXUSR else 0o644)


def _problem(path: str, mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "is a link"
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        return "is no regular file"
    if path.count("/") >= _DEPTH:
        return "lies too deep"
    if not path.isprintable():  # which lone surrogates are not either: bytes that are no UTF-8
        return "has a name that is not plain text"
    return ""


def _content(path: Path) -> bytes | None:
    try:
        return read_regular(path, FILE_BYTES + 1)
    except OSError:
        return None


def _regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _entries(folder: Path) -> int:
    return sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0


def _refused(name: str, why: str) -> MadeSkill:
    return MadeSkill(name=name, files=0, bytes=0, sha256="", refused=why)


def _shown(path: str) -> str:
    return escape(os.fsencode(path or ".").decode("utf-8", "backslashreplace"), 120)
