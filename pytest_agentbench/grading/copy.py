"""A copy of a workspace for code that may change it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pytest_agentbench.grading.evidence import Unreadable

MAX_BYTES = 256 << 20
MAX_ENTRIES = 20_000
MAX_DEPTH = 64
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def copy_workspace(source: Path, target: Path) -> None:
    """Copy files, folders, and links that stay inside, into the new folder ``target``.

    No link is followed. Pipes, sockets, devices, links that lead out and what may not be read
    are left out; of the modes only the executable bits stay. Raises ``Unreadable`` beyond
    ``MAX_BYTES``, ``MAX_ENTRIES`` or ``MAX_DEPTH`` folders in each other.
    """
    try:
        folder = os.open(source, _FLAGS | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        raise Unreadable("the workspace does not exist") from None
    try:
        _copy_folder(folder, target, 0, _Budget())
    finally:
        os.close(folder)


@dataclass(slots=True)
class _Budget:
    bytes: int = MAX_BYTES
    entries: int = MAX_ENTRIES

    def spend(self, size: int) -> None:
        self.bytes -= size
        self.entries -= 1
        if self.bytes < 0 or self.entries < 0:
            raise Unreadable(
                f"the workspace is too large to be copied for a command: at most "
                f"{MAX_BYTES:,} bytes in {MAX_ENTRIES:,} entries are"
            )


def _copy_folder(folder: int, target: Path, depth: int, budget: _Budget) -> None:
    if depth > MAX_DEPTH:
        raise Unreadable(f"the workspace has folders more than {MAX_DEPTH} deep")
    target.mkdir()
    for name in sorted(os.listdir(folder)):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        regular = stat.S_ISREG(status.st_mode)
        budget.spend(status.st_size if regular else 0)
        if stat.S_ISLNK(status.st_mode):
            link = os.readlink(name, dir_fd=folder)
            if _stays_inside(link, depth):
                (target / name).symlink_to(link)
        elif regular or stat.S_ISDIR(status.st_mode):
            try:
                entry = os.open(name, _FLAGS, dir_fd=folder)
            except PermissionError:
                continue
            try:
                if regular:
                    _copy_file(entry, target / name, status)
                else:
                    _copy_folder(entry, target / name, depth + 1, budget)
            finally:
                os.close(entry)


def _copy_file(entry: int, target: Path, status: os.stat_result) -> None:
    with target.open("xb") as copy:
        left = status.st_size
        while left > 0 and (sent := os.sendfile(copy.fileno(), entry, None, left)):
            left -= sent
    target.chmod(0o755 if status.st_mode & 0o111 else 0o644)


def _stays_inside(link: str, depth: int) -> bool:
    """Whether a link in a folder ``depth`` below the workspace leads to something inside.

    ``..`` after a name is refused: the name may be a link itself, and its parent elsewhere.
    """
    path = PurePosixPath(link)
    parts = path.parts
    ups = next((i for i, part in enumerate(parts) if part != ".."), len(parts))
    return not path.is_absolute() and ups <= depth and ".." not in parts[ups:]
