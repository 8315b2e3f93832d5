"""How much there is in folders that somebody else goes on filling."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

#: Longer names of folders are begun anew from an open descriptor: the kernel takes 4096 bytes.
_LONG = 2000
#: A pass is followed by a rest of this many times its cost.
_REST = 9.0


class Census:
    """Counts what is below ``folders``, pass after pass, a little whenever it is called.

    ``bytes`` (on the disk) and ``entries`` are those of the last pass, or of the running one
    where that has found more.
    """

    def __init__(self, folders: tuple[Path, ...]) -> None:
        # One that lies in another is counted with it.
        self._folders = tuple(
            one for one in dict.fromkeys(folders) if not any(p in folders for p in one.parents)
        )
        self._pass = self._walk()
        self._cost = 0.0
        self._due = 0.0
        self._found = [0, 0]
        self._last = (0, 0)

    @property
    def bytes(self) -> int:
        return max(self._last[0], self._found[0])

    @property
    def entries(self) -> int:
        return max(self._last[1], self._found[1])

    def count(self, seconds: float) -> None:
        """Go on counting for about ``seconds``."""
        began = time.monotonic()
        if began < self._due:
            return
        for size in self._pass:
            self._found[0] += size
            self._found[1] += 1
            if time.monotonic() - began > seconds:
                self._cost += time.monotonic() - began
                return
        self._cost += time.monotonic() - began
        self._last = (self._found[0], self._found[1])
        self._due = time.monotonic() + self._cost * _REST
        self._pass, self._found, self._cost = self._walk(), [0, 0], 0.0

    def _walk(self) -> Iterator[int]:
        """The size on the disk of each entry, in bytes. What cannot be read is left out."""
        linked: set[tuple[int, int]] = set()
        # A folder's name, and the descriptor that it begins with, kept open as long as needed.
        stack: list[tuple[str, _Folder | None]] = [(str(folder), None) for folder in self._folders]
        while stack:
            name, base = stack.pop()
            with contextlib.suppress(OSError):
                if len(name) > _LONG:
                    base = _Folder(name)
                    name = base.name
                with os.scandir(name) as entries:
                    for entry in entries:
                        found = entry.stat(follow_symlinks=False)
                        if entry.is_dir(follow_symlinks=False):
                            stack.append((entry.path, base))
                        elif found.st_nlink > 1:
                            if (found.st_dev, found.st_ino) in linked:
                                continue
                            linked.add((found.st_dev, found.st_ino))
                        yield found.st_blocks * 512


class _Folder:
    """A folder held open, whatever the length of its path."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self.name = f"/proc/self/fd/{self._fd}"

    def __del__(self) -> None:
        os.close(self._fd)
