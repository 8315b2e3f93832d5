"""The bytes and the text of a scenario file."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_agentbench.scenario.model import ScenarioError

MAX_BYTES = 1 << 20
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")


def read(path: Path) -> bytes:
    """The bytes of a scenario file. Raises ``ScenarioError`` unless it is one of sane size."""
    if not path.is_file():
        raise ScenarioError(path, "is not a file")
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
