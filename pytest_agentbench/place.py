"""A path as people would type it where they stand."""

from __future__ import annotations

import os
from pathlib import Path


def told(path: Path) -> str:
    """Relative to the current folder, or absolute where that is shorter."""
    return min(os.path.relpath(path), str(path.absolute()), key=len)
