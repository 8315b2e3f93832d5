"""Files and folders that an agent may have tampered with: read, and removed."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path


def read_regular(path: Path, limit: int) -> bytes:
    """The first ``limit`` bytes of a regular file.

    Raises ``OSError`` for anything else that may lie there (a link, a folder, a pipe, a device),
    and never blocks on one.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        parts = []
        while limit > 0 and (part := os.read(descriptor, min(limit, 1 << 20))):
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file of any kind, or a folder with all in it; nothing there is no error.

    Folders without permissions and folders nested beyond what Python recurses into or a path
    can name are removed too. Raises ``OSError``.
    """
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(path)
    except (OSError, RecursionError):
        _flatten(path)


@contextlib.contextmanager
def temporary(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A fresh folder, removed at the end however deep or locked it is by then.

    What cannot be removed stays: by then a verdict on it stands.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        yield folder
    finally:
        with contextlib.suppress(OSError):
            remove(folder)


@contextlib.contextmanager
def vacant(prefix: str, parent: Path) -> Iterator[Path]:
    """A place for a folder; what was made there is removed at the end, as by ``temporary``."""
    folder = parent / f"{prefix}{os.urandom(8).hex()}"
    try:
        yield folder
    finally:
        with contextlib.suppress(OSError):
            remove(folder)


def _flatten(root: Path) -> None:
    """Remove ``root`` by moving each folder found in it to one level, before looking into it."""
    level = Path(tempfile.mkdtemp(prefix=".remove-", dir=root.parent))
    root.rename(level / "0")
    found = 1
    for number in itertools.count():
        folder = level / str(number)
        if number == found:
            break
        folder.chmod(stat.S_IRWXU)
        for path in list(folder.iterdir()):
            if path.is_dir() and not path.is_symlink():
                path.chmod(stat.S_IRWXU)  # a folder moves only if it is writable
                path.rename(level / str(found))
                found += 1
            else:
                path.unlink()
        folder.rmdir()
    level.rmdir()
