"""What must not be started any more in a run: a runtime with a model whose key was refused."""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Stops:
    """Files in ``folder``, which all workers of a run share."""

    folder: Path

    def stop(self, runtime: str, model: str, reason: str) -> None:
        """Start no further trial of the two; the first reason stands."""
        path = self._path(runtime, model)
        written = path.with_name(f"{path.name}.{os.getpid()}")
        written.write_text(reason, "utf-8", "backslashreplace")
        # Whole or not at all: others read it at any time.
        with contextlib.suppress(FileExistsError):
            os.link(written, path)
        written.unlink()

    def reason(self, runtime: str, model: str) -> str:
        """Why no trial of the two is to be started; empty if it may be."""
        try:
            return self._path(runtime, model).read_text("utf-8")
        except FileNotFoundError:
            return ""

    def _path(self, runtime: str, model: str) -> Path:
        name = hashlib.sha256(f"{runtime}\0{model}".encode()).hexdigest()[:16]
        return self.folder / f"stop-{name}"
