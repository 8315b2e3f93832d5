"""What must not be started any more in a run: whose key was refused, or for want of money."""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.record import Record
from pytest_agentbench.spending import RUN_SPENT
from pytest_agentbench.status import Status

#: In place of a runtime and a model.
_ALL = ("", "")


@dataclass(frozen=True, slots=True)
class Stops:
    """Files in ``folder``, which all workers of a run share."""

    folder: Path

    def after(self, record: Record) -> None:
        """Stop what a trial that has ended this way says cannot go on."""
        if record.status is Status.AUTH_ERROR:
            self._refused(record.runtime, record.model, record.node_id)
        elif record.status is Status.INTERRUPTED and record.message.startswith(RUN_SPENT):
            again = "give it more and run again with the same --run-dir"
            self._write(self._path(*_ALL), f"not started: {record.message}; {again}")

    def reason(self, runtime: str, model: str) -> str:
        """Why no trial of the two is to be started; empty if it may be."""
        for names in (_ALL, (runtime, model)):
            with contextlib.suppress(FileNotFoundError):
                return self._path(*names).read_text("utf-8")
        return ""

    def _refused(self, runtime: str, model: str, node_id: str) -> None:
        named = f"{runtime} with the model {model}" if model else runtime
        reason = (
            f"not started: {named} was stopped when the provider refused the key in {node_id}; "
            "mend that and run again with the same --run-dir"
        )
        self._write(self._path(runtime, model), reason)

    @staticmethod
    def _write(path: Path, reason: str) -> None:
        written = path.with_name(f"{path.name}.{os.getpid()}")
        written.write_text(reason, "utf-8", "backslashreplace")
        # Whole or not at all, since others read it at any time; the first reason stands.
        with contextlib.suppress(FileExistsError):
            os.link(written, path)
        written.unlink()

    def _path(self, runtime: str, model: str) -> Path:
        name = hashlib.sha256(f"{runtime}\0{model}".encode()).hexdigest()[:16]
        return self.folder / f"stop-{name}"
