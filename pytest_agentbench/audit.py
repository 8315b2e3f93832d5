"""Looks through a run folder or a suite for what should not be published."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.files import read_regular
from pytest_agentbench.redaction import Redactor, found
from pytest_agentbench.text import escape

#: Bytes of a file, unpacked, that are looked at.
LIMIT = 64 << 20
#: A home folder says who ran it, on whatever machine that was.
_HOME = re.compile(r"(?:/home/|/Users/|[A-Z]:\\Users\\)(?!user\b)([\w.-]{2,})")
_AROUND = 12
_OWN_HOME = "home folder of who runs this"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that should not leave the machine. ``line`` counts from 1; 0 is the file itself.

    ``excerpt`` is what stands around it, one line, without the secret.
    """

    path: str
    line: int
    kind: str
    excerpt: str = ""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{escape(place, 500)}: {self.kind}" + (f": {self.excerpt}" if self.excerpt else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What was looked at: ``findings`` in the order of paths, ``allowed`` of them that may stay."""

    files: int = 0
    findings: tuple[Finding, ...] = ()
    allowed: int = 0


def audit(root: Path, redactor: Redactor, allow: tuple[str, ...] = ()) -> Audit:
    """Look through the file or folder ``root``; links are not followed.

    ``allow`` are globs of paths, relative to ``root``, in which findings may stay: synthetic secrets
    that a scenario needs. Raises ``OSError`` when ``root`` cannot be read.
    """
    files = allowed = 0
    findings: list[Finding] = []
    for path in _files(root):
        name = path.name if path == root else path.relative_to(root).as_posix()
        files += 1
        for finding in _look(path, name, root, redactor):
            if any(fnmatch.fnmatchcase(name, glob) for glob in allow):
                allowed += 1
            else:
                findings.append(finding)
    return Audit(files=files, findings=tuple(findings), allowed=allowed)


def _files(root: Path) -> Iterator[Path]:
    if not stat.S_ISDIR(root.stat().st_mode):
        yield root
        return
    for folder, inner, names in os.walk(root):
        links = [name for name in inner if Path(folder, name).is_symlink()]
        inner[:] = sorted(name for name in inner if name not in (".git", *links))
        for name in sorted([*names, *links]):
            yield Path(folder, name)


def _look(path: Path, name: str, root: Path, redactor: Redactor) -> Iterator[Finding]:
    if path.is_symlink():
        if not path.resolve().is_relative_to(root.resolve()):
            yield Finding(path=name, line=0, kind="link that leads out of the folder")
        return
    try:
        data = _content(path)
    except OSError as error:
        yield Finding(path=name, line=0, kind=f"cannot be read: {error.strerror}")
        return
    except zlib.error:
        yield Finding(path=name, line=0, kind="cannot be unpacked")
        return
    if len(data) > LIMIT:
        limit = f"{LIMIT >> 20} MiB"
        yield Finding(path=name, line=0, kind=f"only the first {limit} were looked at")
    text = data[:LIMIT].decode("utf-8", "replace")
    # Over all lines at once: a private key has many.
    for start, end, kind in sorted(set(_places(text, redactor))):
        line = text.count("\n", 0, start) + 1
        yield Finding(path=name, line=line, kind=kind, excerpt=_excerpt(text, start, end))


def _content(path: Path) -> bytes:
    data = read_regular(path, LIMIT + 1)
    if path.suffix == ".gz":
        return zlib.decompressobj(31).decompress(data, LIMIT + 1)
    return data


def _places(text: str, redactor: Redactor) -> Iterator[tuple[int, int, str]]:
    for known, instead in redactor.known:
        kind = instead.removeprefix("[redacted: ").removesuffix("]")
        kind = _OWN_HOME if instead[0] in "~/" else kind
        for match in re.finditer(rf"{re.escape(known)}(?![\w-])", text):
            yield *match.span(), kind
    for secret in found(text):
        yield secret.start, secret.end, secret.kind
    own = tuple(known for known, instead in redactor.known if instead[0] in "~/")
    for match in _HOME.finditer(text):
        if not match.group().startswith(own or ("\0",)):
            yield *match.span(), "home folder"


def _excerpt(text: str, start: int, end: int) -> str:
    before = text[max(0, start - _AROUND) : start].rpartition("\n")[2]
    after = text[end : end + _AROUND].partition("\n")[0]
    return escape(f"{before}[…]{after}".strip())
