"""Who runs which trial of a run folder that several invocations share, on any number of hosts."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_agentbench.files import read_regular
from pytest_agentbench.sandbox import owner

#: Signs of life within the time after which one without them counts as dead.
_BEATS = 6
_STAMP_LIMIT = 4096
#: When an invocation ended that gave its claims up.
_ENDED = 0.0


class Claims:
    """The claims in ``folder`` as one process sees them.

    A claim is a file of the trial's key: a hard link to a file that says who its owner is, and
    whose time of change the owner renews. Linking is atomic, on network file systems too, and all
    times are those of the file system: clocks of hosts are never compared. A claim is stale when
    its owner ended, is dead on this host, or gave no sign of life for ``seconds``.
    """

    def __init__(
        self, folder: Path, ledger: Path, seconds: float, times: Mapping[str, int]
    ) -> None:
        self.folder = folder
        self.seconds = seconds
        self._ledger, self._offset = ledger, 0
        #: How many records of each trial this process knew when it began.
        self._times = times
        #: Of each trial's records in the ledger, which have a score.
        self._scored: dict[str, list[bool]] = {}
        self._stamps: list[Path] = []
        self._inodes: set[int] = set()
        self._stop = threading.Event()
        self._beating: threading.Thread | None = None

    def take(self, key: str) -> bool:
        """Claim a trial; False while another has it, or has run it since this process began.

        Raises ``OSError``.
        """
        path = self.folder / key
        if not self._stamps:
            self._begin()
        if self._link(path):
            return True
        if self.holds(key):
            return True
        if not self._stale(path) or self._has_score(key):
            return False
        with self._alone():
            # Another may have been quicker.
            if not self._stale(path):
                return False
            beside = path.with_name(f".{key}.{self._stamps[-1].name}")
            os.link(self._stamps[-1], beside)
            beside.replace(path)
        return True

    def holds(self, key: str) -> bool:
        """Whether the claim is still ours: another may have taken us for dead."""
        try:
            return (self.folder / key).stat().st_ino in self._inodes
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Give up all claims: what has no score may be taken by others at once."""
        self._stop.set()
        if self._beating is not None:
            self._beating.join()
        for stamp in self._stamps:
            with contextlib.suppress(OSError):
                os.utime(stamp, (_ENDED, _ENDED))
                stamp.unlink()
        self._stamps.clear()

    def _begin(self) -> None:
        (self.folder / "owners").mkdir(parents=True, exist_ok=True)
        self._stamp()
        # A daemon: it must not keep a process alive whose end somebody waits for.
        self._beating = threading.Thread(target=self._beat, name="agentbench-claims", daemon=True)
        self._beating.start()

    def _stamp(self) -> None:
        stamp = self.folder / "owners" / secrets.token_hex(8)
        stamp.write_text(owner.stamp(), "ascii")
        self._inodes.add(stamp.stat().st_ino)
        self._stamps.append(stamp)

    def _beat(self) -> None:
        while not self._stop.wait(self.seconds / _BEATS):
            for stamp in list(self._stamps):
                with contextlib.suppress(OSError):
                    os.utime(stamp)

    def _link(self, path: Path) -> bool:
        try:
            os.link(self._stamps[-1], path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno != errno.EMLINK:  # a file has only so many names
                raise
            self._stamp()
            return self._link(path)
        return True

    def _stale(self, path: Path) -> bool:
        try:
            changed = path.stat().st_mtime
            labels = owner.read(read_regular(path, _STAMP_LIMIT))
        except FileNotFoundError:
            return True
        if changed == _ENDED or owner.gone(labels):
            return True
        os.utime(self._stamps[-1])
        return self._stamps[-1].stat().st_mtime - changed > self.seconds

    def _has_score(self, key: str) -> bool:
        with contextlib.suppress(FileNotFoundError), self._ledger.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                with contextlib.suppress(ValueError, RecursionError):
                    data = json.loads(line)
                    if isinstance(data, dict) and data.get("event") == "graded":
                        scored = self._scored.setdefault(str(data.get("key")), [])
                        scored.append(bool(data.get("grade")))
        return any(self._scored.get(key, [])[self._times.get(key, 0) :])

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        fd = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)
