"""What a trial left behind, read without trusting a byte of it."""

from __future__ import annotations

import errno
import json
import math
import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.scenario.model import InputFile
from pytest_agentbench.status import TrialFault, status_of
from pytest_agentbench.trace.events import Trace

MAX_BYTES = 10 << 20
#: Deeper JSON than this is refused: walking it would end in RecursionError somewhere.
MAX_DEPTH = 100
_MAX_DIGITS = 300
_MAX_LINKS = 40
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
#: What an agent can bring about; any other error of the system is the harness's trouble.
_REASONS = {
    errno.EACCES: "may not be read",
    errno.EPERM: "may not be read",
    errno.ENAMETOOLONG: "has too long a name",
    errno.ELOOP: "is replaced by a symbolic link",
}


class Unreadable(Exception):
    """The agent left something that cannot be checked; the text says what, for people."""


class Missing(Unreadable):
    """There is nothing at the path, not even a link to nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What checks may look at: the dead workspace, the trace, the inputs it began with.

    ``sandbox`` runs the commands of ``command`` checks. ``limit`` is the number of bytes that
    checks read of a file. ``roots`` are further absolute paths under which the agent knew its
    workspace; paths in the trace are taken relative to them.
    """

    workspace: Path
    trace: Trace
    inputs: tuple[InputFile, ...] = ()
    sandbox: Sandbox | None = None
    limit: int = MAX_BYTES
    roots: tuple[str, ...] = ("/workspace",)

    def size(self, path: str) -> int:
        """Bytes of the regular file at ``path``. Raises ``Unreadable``."""
        fd = self._open(path, links=True)
        try:
            return os.fstat(fd).st_size
        finally:
            os.close(fd)

    def read(self, path: str, *, limit: int | None = None, links: bool = True) -> bytes:
        """The regular file at ``path``, relative to the workspace.

        Symbolic links are followed as long as they stay inside, or not at all without
        ``links``. Never blocks, never reads outside. Raises ``Unreadable``.
        """
        limit = self.limit if limit is None else limit
        with os.fdopen(self._open(path, links=links), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > limit:
                raise Unreadable(f"{path} is {size:,} bytes; checks read at most {limit:,}")
            return file.read(limit)

    def read_text(self, path: str) -> str:
        """The file as UTF-8, strictly. Raises ``Unreadable``."""
        try:
            return self.read(path).decode()
        except UnicodeDecodeError as error:
            raise Unreadable(f"{path} is not UTF-8 at byte {error.start}") from None

    def read_json(self, path: str) -> Any:
        """The file as JSON (RFC 8259), a byte order mark aside. Raises ``Unreadable``.

        NaN and infinities, numbers beyond a double's range and nesting beyond ``MAX_DEPTH``
        are refused.
        """
        text = self.read_text(path).removeprefix("\ufeff")
        try:
            value = json.loads(
                text, parse_constant=_refuse, parse_int=_integer, parse_float=_number
            )
        except json.JSONDecodeError as error:
            raise Unreadable(
                f"{path} is not JSON at line {error.lineno}, column {error.colno}: {error.msg}"
            ) from None
        except _BadNumber as error:
            raise Unreadable(f"{path} is not JSON: {error}") from None
        except RecursionError:
            raise Unreadable(_too_deep(path)) from None
        if not _shallow(value):
            raise Unreadable(_too_deep(path))
        return value

    def _open(self, path: str, *, links: bool) -> int:
        """Open the regular file at ``path`` from the workspace downwards.

        One folder is open at a time: a chain of links through a thousand folders must not
        use up the descriptors of the harness.
        """
        pending = _parts(path)
        followed = depth = 0
        ends_in_link = False
        try:
            folder = os.open(self.workspace, _FLAGS | os.O_DIRECTORY)
        except OSError as error:
            raise _refusal(error, "the workspace") from error
        try:
            while pending:
                name = pending.pop()
                if name == ".." and depth == 0:
                    raise Unreadable(f"{path} leads out of the workspace")
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                if stat.S_ISLNK(mode):
                    followed += 1
                    if not links:
                        raise Unreadable(f"{path} is a symbolic link")
                    if followed > _MAX_LINKS:
                        raise Unreadable(f"{path} is a loop of symbolic links")
                    ends_in_link |= not pending
                    target = PurePosixPath(os.readlink(name, dir_fd=folder))
                    if target.is_absolute():
                        raise Unreadable(f"{path} leads out of the workspace")
                    pending += _parts(str(target))
                elif stat.S_ISREG(mode) and not pending:
                    return os.open(name, _FLAGS, dir_fd=folder)
                elif stat.S_ISDIR(mode):
                    depth += -1 if name == ".." else 1
                    inner = os.open(name, _FLAGS | os.O_DIRECTORY, dir_fd=folder)
                    os.close(folder)
                    folder = inner
                elif pending:
                    raise Missing(f"{path} does not exist")
                else:
                    kind = _KINDS.get(stat.S_IFMT(mode), "no regular file")
                    raise Unreadable(f"{path} is {kind}, not a file")
            raise Unreadable(f"{path} is a directory, not a file")
        except OSError as error:
            if error.errno == errno.ENOENT and ends_in_link:
                raise Unreadable(f"{path} is a symbolic link to nothing") from None
            raise _refusal(error, path) from error
        finally:
            os.close(folder)


def _parts(path: str) -> list[str]:
    """Components of ``path``, the first one last. A leading slash leads out by itself."""
    if path.startswith("/"):
        raise Unreadable(f"{path} leads out of the workspace")
    return list(reversed(PurePosixPath(path).parts))


def _refusal(error: OSError, path: str) -> Exception:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return Missing(f"{path} does not exist")
    if reason := _REASONS.get(error.errno or 0):
        return Unreadable(f"{path} {reason}")
    return TrialFault(status_of(error), f"cannot read {path}: {error.strerror}")


class _BadNumber(Exception):
    pass


def _refuse(name: str) -> Any:
    raise _BadNumber(f"{name} is not a JSON number")


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise _BadNumber(f"a number of {len(digits):,} digits")
    return int(digits)


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _BadNumber("a number beyond the range of a double")
    return value


def _too_deep(path: str) -> str:
    return f"{path} is nested more than {MAX_DEPTH} levels deep"


def _shallow(value: Any) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return True
    return False
