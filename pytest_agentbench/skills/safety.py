"""What speaks against giving a skill to another agent: its form, secrets, dangerous commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pytest_agentbench.redaction import found
from pytest_agentbench.skills.contents import files
from pytest_agentbench.skills.form import SKILL, read_skill
from pytest_agentbench.skills.harvest import BYTES, FILES
from pytest_agentbench.status import TrialFault
from pytest_agentbench.text import escape

#: Commands that no skill for a task in a folder needs, by what is wrong with them.
DANGERS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (what, re.compile(pattern, re.IGNORECASE))
    for what, pattern in (
        ("removes what is not its own", r"\brm\s+(?:-\w+\s+)*(?:--no-preserve-root\s+)?(?:/|~|\$HOME)(?:\s|\*|$)"),
        ("runs what it fetches", r"\b(?:curl|wget)\b[^\n|;]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b"),
        ("runs what it fetches", r"\b(?:eval|source|bash\s+-c|sh\s+-c)\b[^\n]*\$\((?:curl|wget)\b"),
        ("runs what it decodes", r"\bbase64\s+(?:-d|--decode)\b[^\n|]*\|\s*(?:ba|z|da)?sh\b"),
        ("writes to a device", r"\bdd\b[^\n]*\bof=/dev/(?!null\b)|>\s*/dev/(?:sd|nvme|vd|mem)"),
        ("makes a file system", r"\bmkfs(?:\.\w+)?\b"),
        ("opens all permissions of the system", r"\bchmod\s+(?:-\w+\s+)*[0-7]?777\s+/(?:\s|$)"),
        ("starts processes without end", r":\(\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:"),
        ("reads credentials", r"(?:/etc/shadow|\.ssh/id_\w+|\.aws/credentials|\.netrc|\.git-credentials)\b"),
        ("opens a shell to elsewhere", r"/dev/tcp/|\bn(?:c|cat|etcat)\b[^\n]*\s-e\b"),
        ("makes itself at home", r"\bcrontab\s|(?:~|\$HOME)/\.(?:bashrc|zshrc|bash_profile|profile)\b|\bsystemctl\s+enable\b"),
        ("asks for more rights", r"\bsudo\b|\bsetuid\b"),
    )
)  # fmt: skip
_READ = 1 << 20


def findings(skill: Path) -> tuple[str, ...]:
    """What is wrong with the skill in a folder, in words, in the order of its files."""
    return tuple(dict.fromkeys(_findings(skill)))


def _findings(skill: Path) -> Iterator[str]:
    try:
        names = list(files(skill))
    except TrialFault as fault:
        yield str(fault)
        return
    if SKILL not in names:
        yield f"it has no {SKILL}"
        return
    text = read_skill((skill / SKILL).read_bytes())
    if not text.name or not text.description:
        yield f"{SKILL} does not say its name and what it is for"
    size = sum((skill / name).stat().st_size for name in names)
    if len(names) > FILES or size > BYTES:
        yield f"it has {len(names):,} files and {size:,} bytes; {FILES} and {BYTES:,} are allowed"
    for name in names:
        with (skill / name).open("rb") as file:
            content = file.read(_READ).decode("utf-8", "replace")
        for secret in found(content):
            yield f"{escape(name, 120)} holds a secret: {secret.kind}"
        for number, line in enumerate(content.splitlines(), start=1):
            for what, pattern in DANGERS:
                if match := pattern.search(line):
                    yield f"{escape(name, 120)}:{number} {what}: {escape(match[0].strip(), 80)}"
