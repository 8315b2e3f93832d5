"""When a model may be asked again after its provider failed: one pace for all workers of a run."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_agentbench.status import Status

#: Seconds after the first failure, doubled for each further one up to the longest.
FIRST, LONGEST = 1.0, 60.0
#: Seconds between two looks, since another worker's success ends the wait.
_LOOK = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Failures in a row, when the last was counted, and until when to wait (s, monotonic)."""

    failures: int = 0
    since: float = 0.0
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Of one model, in a file of ``folder``, which all workers share."""

    folder: Path
    model: str

    def left(self) -> float:
        """Seconds until the next start."""
        return max(0.0, self._read().until - time.monotonic())

    def wait(self) -> float:
        """Wait for the next start; the seconds waited, 0 for none."""
        began = time.monotonic()
        waited = 0.0
        while (left := self.left()) > 0:
            time.sleep(min(left, _LOOK))
            waited = time.monotonic() - began
        return waited

    def note(self, status: Status, began: float) -> None:
        """Take account of an attempt that began at ``began`` (monotonic) and ended in ``status``.

        What began before the last failure was counted says nothing new: workers that fail
        together are one failure, and one that worked was lucky before it.
        """
        if status is not Status.PROVIDER_ERROR and not status.policy.graded:
            return
        failed = status is Status.PROVIDER_ERROR
        if not failed and not self._path.exists():
            return
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            before = _state(os.read(fd, 1 << 12))
            if began < before.since:
                return
            now = time.monotonic()
            seconds = min(LONGEST, FIRST * 2.0 ** min(before.failures, 30))
            after = State(failures=before.failures + 1, since=now, until=now + seconds)
            os.ftruncate(fd, 0)
            os.pwrite(fd, json.dumps(asdict(after if failed else State())).encode(), 0)
        finally:
            os.close(fd)

    def _read(self) -> State:
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return State()
        try:
            fcntl.flock(fd, fcntl.LOCK_SH)
            return _state(os.read(fd, 1 << 12))
        finally:
            os.close(fd)

    @property
    def _path(self) -> Path:
        return self.folder / f"pace-{hashlib.sha256(self.model.encode()).hexdigest()[:16]}"


def _state(text: bytes) -> State:
    return State(**json.loads(text)) if text else State()
