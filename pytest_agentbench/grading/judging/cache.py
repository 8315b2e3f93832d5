"""What judges said before, by a hash of all that it depends on."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Cache:
    """JSON files below ``folder``, one an entry; any number of processes may use it at once."""

    folder: Path

    def get(self, key: str) -> Mapping[str, Any] | None:
        """The entry, None for one that is not there or cannot be read."""
        try:
            data = json.loads(self._path(key).read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return data if isinstance(data, dict) else None

    def put(self, key: str, entry: Mapping[str, Any]) -> None:
        """Keep an entry. A folder that cannot be written to costs money, and no verdict."""
        path = self._path(key)
        part = path.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(entry) + "\n", "utf-8")
            part.replace(path)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"
