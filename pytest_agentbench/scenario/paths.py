"""Where a scenario's files are found, and the walls that they stay behind."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.scenario.yamlfile import kind

#: A folder that holds one of these is the root of its project.
MARKERS = ("pyproject.toml", ".git", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg")


def relative(text: str) -> str:
    """A workspace path in its plain spelling. Raises ``ValueError`` unless it stays inside."""
    if not text or "\0" in text:
        raise ValueError("must be a path relative to the workspace")
    if text.startswith(("/", "~")) or "\\" in text or text[1:2] == ":":
        raise ValueError(f"{kind(text)} must be relative to the workspace, with forward slashes")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError(f"{kind(text)} leaves the workspace; `..` is not allowed")
    if not parts:
        raise ValueError(f"{kind(text)} names the workspace itself, not a file in it")
    if any(len(part.encode()) > 255 for part in parts):
        raise ValueError(f"{kind(text)} has a name of more than 255 bytes")
    return "/".join(parts)


def root_of(folder: Path) -> Path:
    """The nearest folder at or above ``folder`` that marks a project, else ``folder``."""
    for above in (folder, *folder.parents):
        if any(os.path.lexists(f"{above}/{marker}") for marker in MARKERS):
            return above
    return folder


@dataclass(frozen=True)
class Places:
    """Folders in which a file named by a scenario is looked for, nearest first.

    Nothing outside ``root`` is ever found.
    """

    root: Path
    folders: tuple[Path, ...]

    def find(self, text: str) -> Path:
        """The file or folder that ``text`` names. Raises ``ValueError`` when there is none."""
        if not text or "\0" in text:
            raise ValueError("must be a path")
        if text.startswith(("/", "~")):
            raise ValueError(f"{kind(text)} is absolute; write it relative to the scenario file")
        outside = False
        for folder in self.folders:
            path = Path(os.path.normpath(folder / text))
            if not path.is_relative_to(self.root):
                outside = True
            elif os.path.exists(path):  # noqa: PTH110 - False where Path.exists raises
                if not path.resolve().is_relative_to(self._real_root):
                    raise ValueError(f"{kind(text)} is a link out of {self.root.name}/")
                return path
        if outside:
            raise ValueError(f"{kind(text)} leaves {self.root.name}/, the root of the project")
        looked = ", ".join(_shown(folder, self.root) for folder in self.folders)
        raise ValueError(f"{kind(text)} does not exist; looked in {looked}")

    @functools.cached_property
    def _real_root(self) -> Path:
        return self.root.resolve()


def beside(path: Path) -> Places:
    """The folders of a native scenario file: its own, then each above it up to the root."""
    root = root_of(path.parent)
    folders = [path.parent]
    while folders[-1] != root:
        folders.append(folders[-1].parent)
    return Places(root, tuple(folders))


def published(path: Path) -> Places:
    """The folders of a published composite file: its own, then the root of its suite."""
    root = _suite(path.parent)
    return Places(root, (path.parent, root) if root != path.parent else (root,))


def checkers(path: Path) -> Places:
    """Where a published composite file's ``custom_check`` is looked for."""
    root = _suite(path.parent)
    return Places(root, (root / "custom_checks",))


def tasks(path: Path) -> Places:
    """The folder that published task markdown names its fixtures from: above ``tasks/``."""
    root = path.parent.parent if path.parent.name == "tasks" else path.parent
    return Places(root, (root,))


def walk(folder: Path) -> Iterator[tuple[str, Path, bool]]:
    """Every file below ``folder``, sorted: path from it, where it is, whether it is executable.

    Raises ``ValueError`` for a link that leaves the folder or a thing that is no file.
    """
    yield from _walk(folder, folder.resolve(), "")


def executable(path: Path) -> bool:
    """Whether the file may be executed. Raises ``ValueError`` as ``walk`` does."""
    if path.is_symlink() and not path.resolve().is_relative_to(path.parent.resolve()):
        raise ValueError(f"{kind(path.name)} is a link out of its folder; copy what it stands for")
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        raise ValueError(f"{kind(path.name)} is neither a file nor a folder")
    return bool(mode & stat.S_IXUSR)


def _walk(folder: Path, top: Path, prefix: str) -> Iterator[tuple[str, Path, bool]]:
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        name, path = prefix + entry.name, folder / entry.name
        if entry.is_symlink():
            real = path.resolve()
            if not real.is_relative_to(top):
                raise ValueError(
                    f"{kind(name)} is a link out of its folder; copy what it stands for"
                )
            if not real.is_file():
                raise ValueError(f"{kind(name)} is a link to no file; copy what it stands for")
        elif entry.is_dir():
            yield from _walk(path, top, name + "/")
            continue
        mode = entry.stat().st_mode
        if not stat.S_ISREG(mode):
            raise ValueError(f"{kind(name)} is neither a file nor a folder")
        yield name, path, bool(mode & stat.S_IXUSR)


def _suite(folder: Path) -> Path:
    for root in (folder.parent.parent, folder.parent):
        if (root / "custom_checks").is_dir():
            return root
    return root_of(folder)


def _shown(folder: Path, root: Path) -> str:
    return (root.name / folder.relative_to(root)).as_posix() + "/"
