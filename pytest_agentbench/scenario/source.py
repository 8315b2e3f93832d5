"""The bytes and the text of a scenario file."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_agentbench.scenario.model import ScenarioError

SUFFIXES = (".yaml", ".yml", ".md")
MAX_BYTES = 1 << 20
#: Bytes in which a file must show that it is a scenario.
_HEAD = 64 << 10
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")

_PROMPT_KEY = re.compile(rb"""(?m)^(?:\xef\xbb\xbf)?["']?prompt["']?\s*:""")
_OWN_KEY = re.compile(rb"""(?m)^(?:\xef\xbb\xbf)?["']?(?:dimension|agentbench)["']?\s*:""")
_FRONT = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n")
_PROMPT_HEADING = re.compile(rb"(?m)^## +Prompt\s*$")


def is_scenario(path: Path) -> bool:
    """Whether there is a regular file that means to be a scenario. Raises ``OSError``."""
    if path.suffix not in SUFFIXES or not path.is_file():
        return False
    with path.open("rb") as file:
        return looks_like(path, file.read(_HEAD))


def looks_like(path: Path, head: bytes) -> bool:
    """Whether a file that begins with ``head`` means to be a scenario. Nothing is parsed.

    YAML does if it has the keys ``prompt`` and ``dimension`` or ``agentbench`` at its top,
    markdown if it is named ``task_*.md``, begins with front matter and has ``## Prompt``.
    """
    if path.suffix in (".yaml", ".yml"):
        return bool(_PROMPT_KEY.search(head) and _OWN_KEY.search(head))
    named = path.suffix == ".md" and path.name.startswith("task_")
    return bool(named and _FRONT.match(head) and _PROMPT_HEADING.search(head))


def read(path: Path) -> bytes:
    """The bytes of a scenario file. Raises ``ScenarioError`` unless it is one of sane size."""
    if not path.is_file():
        raise ScenarioError(path, "is not a file" if path.exists() else "does not exist")
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ScenarioError(
            path,
            f"has {size} bytes; a scenario may have {MAX_BYTES}, "
            "larger data belong in workspace files",
        )
    return path.read_bytes()


def decode(data: bytes, path: Path) -> str:
    """The text of a file: UTF-8 without control characters, or ``ScenarioError``."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"byte {error.start} (0x{data[error.start]:02x}) is not UTF-8; save it as UTF-8"
        raise ScenarioError(path, problem, line=line) from None
    text = text.removeprefix("\ufeff")
    if control := _CONTROL.search(text):
        line = text.count("\n", 0, control.start()) + 1
        problem = f"control character U+{ord(control[0]):04X}; remove it"
        raise ScenarioError(path, problem, line=line)
    if not text.strip():
        needs = "a scenario needs at least a prompt, a dimension and checks"
        raise ScenarioError(path, f"the file is empty; {needs}")
    return text
