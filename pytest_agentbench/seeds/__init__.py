"""Skills that the harness itself gives: one about making skills, and the controls."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

Kind = Literal["skill-creator", "irrelevant", "empty"]


def seeds(kind: Kind) -> tuple[Path, ...]:
    """The folders of the skills of one kind, each with its ``SKILL.md``, ordered by name."""
    return tuple(sorted(path.parent for path in Path(__file__).with_name(kind).glob("*/SKILL.md")))
