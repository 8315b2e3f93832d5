"""Say what is wrong with the form of a skill. Usage: check_skill.py FOLDER..."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
NAME_LIMIT, DESCRIPTION_LIMIT, LINE_LIMIT = 64, 1024, 500
MENTIONED = re.compile(r"`((?:scripts|references|assets)/[\w./-]*\w)`")


def front_matter(text: str) -> dict[str, str] | None:
    """The plain keys of a file's front matter; None if it has none. Folded values are joined."""
    match = re.match(r"---\n(.*?)\n---(?:\n|\Z)", text, re.DOTALL)
    if match is None:
        return None
    found: dict[str, str] = {}
    last = ""
    for line in match[1].splitlines():
        if pair := re.match(r"([\w-]+):\s*(.*)", line):
            last = pair[1]
            found[last] = pair[2].strip(" \"'") if pair[2] not in (">", "|", ">-", "|-") else ""
        elif last and line.startswith(" "):
            found[last] = f"{found[last]} {line.strip()}".strip()
    return found


def problems(folder: Path) -> Iterator[str]:
    """What is wrong with the skill in ``folder``, in words."""
    path = folder / "SKILL.md"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        yield "there is no SKILL.md"
        return
    except UnicodeDecodeError:
        yield "SKILL.md is not in UTF-8"
        return
    head = front_matter(text)
    if head is None:
        yield "SKILL.md has no front matter: begin it with ---, name, description, ---"
        return
    yield from named(head, folder.resolve().name)
    body = text.partition("\n---")[2].strip("-\n ")
    if not body:
        yield "SKILL.md has no body: nothing is said beyond the description"
    if text.count("\n") > LINE_LIMIT:
        yield f"SKILL.md has over {LINE_LIMIT} lines: move a part to references/"
    for mentioned in sorted(set(MENTIONED.findall(body))):
        if not (folder / mentioned).exists():
            yield f"SKILL.md speaks of {mentioned}, which is not there"
    for file in sorted(folder.rglob("*")):
        if file.is_symlink():
            yield f"{file.relative_to(folder)} is a link: put the file itself there"


def named(head: dict[str, str], folder: str) -> Iterator[str]:
    name, description = head.get("name", ""), head.get("description", "")
    if not name:
        yield "name is missing"
    elif not NAME.fullmatch(name) or len(name) > NAME_LIMIT:
        yield f"name {name!r}: lower-case letters, digits, single hyphens; up to {NAME_LIMIT}"
    elif name != folder:
        yield f"name {name!r} is not the name of its folder, {folder!r}"
    if not description:
        yield "description is missing"
    elif len(description) > DESCRIPTION_LIMIT:
        yield f"description has {len(description)} characters, at most {DESCRIPTION_LIMIT}"


def main(folders: list[str]) -> int:
    if not folders:
        print("usage: check_skill.py FOLDER...", file=sys.stderr)
        return 2
    found = 0
    for folder in folders:
        for problem in problems(Path(folder)):
            print(f"{folder}: {problem}")
            found += 1
    if not found:
        print("the form is right")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
