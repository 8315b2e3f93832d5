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

    def refused(self, runtime: str, model: str, node_id: str) -> None:
        """Start no further trial of the two: in ``node_id`` their key was refused."""
        named = f"{runtime} with the model {model}" if model else runtime
        reason = (
            f"not started: {named} was stopped when the provider refused the key in {node_id}; "
            "mend that and run again with the same --run-dir"
        )
        path = self._path(runtime, model)
        written = path.with_name(f"{path.name}.{os.getpid()}")
        written.write_text(reason, "utf-8", "backslashreplace")
        # Whole or not at all, since others read it at any time; the first reason stands.
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
