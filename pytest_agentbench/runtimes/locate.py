"""Finds an installed runtime, and says what to type where it is missing.

Looked for in this order: ``path`` of the profile, the folder of runtimes, PATH. In the folder of
runtimes each version of each runtime has a folder of its own, ``NAME@VERSION``, so that several
versions stand side by side. It is ``~/.agentbench/runtimes``, or what AGENTBENCH_RUNTIMES says.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytest_agentbench.runtimes.protocol import RuntimeUnavailable
from pytest_agentbench.trial import RuntimeProfile

_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-.+]?[0-9A-Za-z]+)*")
_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """What a runtime is installed from.

    ``tested`` is the version that the adapter was tested with; it is installed unless another is
    asked for. ``program`` is the command that it installs. ``python`` and ``node`` are the lowest
    versions that it runs on.
    """

    runtime: str
    registry: Literal["npm", "pip"]
    package: str
    program: str
    tested: str
    python: str = "3.11"
    node: str = ""

    def install(self, version: str = "") -> str:
        """The exact command that installs it where it will be found."""
        version = version or self.tested
        folder = shlex.quote(str(runtimes_folder() / f"{self.runtime}@{version}"))
        if self.registry == "npm":
            npm = f"npm install --prefix {folder} {self.package}@{version}"
            return f"{_node_first(self.node)}{npm}" if self.node else npm
        return (
            f"python{self.python} -m venv {folder} && "
            f"{folder}/bin/pip install {self.package}=={version}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A runtime that was found: its program, version and SHA-256."""

    program: Path
    version: str
    digest: str


def runtimes_folder() -> Path:
    named = os.environ.get("AGENTBENCH_RUNTIMES")
    return Path(named).absolute() if named else Path.home() / ".agentbench" / "runtimes"


def locate(profile: RuntimeProfile, package: Package) -> Installed:
    """The runtime of a profile, in the version that it names if it names one.

    The option ``path`` is a program. Raises ``RuntimeUnavailable`` with what was found in its
    place and the command that installs what was asked for.
    """
    asked = profile.version
    other: list[str] = []
    for program in _candidates(profile, package):
        version = _installed_version(program, package.package) or version_of(program)
        if not asked or version == asked:
            return Installed(program=program, version=version, digest=_digest(program))
        other.append(f"{program} is version {version or 'unknown'}")
    found = f"; {'; '.join(other)}" if other else ""
    wanted = f"{package.program} {asked}".strip()
    raise RuntimeUnavailable(
        f"{wanted} is not installed{found}. Install it with:\n    {package.install(asked)}"
    )


def _candidates(profile: RuntimeProfile, package: Package) -> Iterator[Path]:
    path = profile.options.get("path")
    if path is not None:
        program = Path(str(path)).expanduser().absolute()
        if not os.access(program, os.X_OK) or not program.is_file():
            raise RuntimeUnavailable(f"{program}, the profile's path, is no program")
        yield program
        return
    pattern = f"{package.runtime}@{profile.version or '*'}"
    folders = sorted(runtimes_folder().glob(pattern), key=_order, reverse=True)
    for folder in folders:
        for inside in (Path("node_modules", ".bin"), Path("bin")):
            if os.access(program := folder / inside / package.program, os.X_OK):
                yield program
    if on_path := shutil.which(package.program):
        yield Path(on_path).absolute()


def node(lowest: str) -> Path:
    """A Node.js of at least that version. Raises ``RuntimeUnavailable`` saying how to get one."""
    folders = sorted(runtimes_folder().glob("node@*"), key=_order, reverse=True)
    found = [
        program
        for folder in folders
        if os.access(program := folder / "node_modules" / "node" / "bin" / "node", os.X_OK)
    ]
    if on_path := shutil.which("node"):
        found.insert(0, Path(on_path).absolute())
    seen = []
    for program in found:
        version = version_of(program)
        if version and _numbers(version) >= _numbers(lowest):
            return program
        seen.append(f"{program} is {version or 'of unknown version'}")
    major = lowest.partition(".")[0]
    folder = shlex.quote(str(runtimes_folder() / f"node@{major}"))
    raise RuntimeUnavailable(
        f"Node.js {lowest} or newer is needed; {'; '.join(seen) or 'there is none'}. Install one "
        f"beside it with:\n    npm install --prefix {folder} node@{major}"
    )


def _node_first(lowest: str) -> str:
    """What stands before npm where the scripts of a package need a Node.js of at least that."""
    try:
        found = node(lowest)
    except RuntimeUnavailable:
        folder = runtimes_folder() / f"node@{lowest.partition('.')[0]}"
        get = f"npm install --prefix {shlex.quote(str(folder))} {folder.name} && "
        return f"{get}{_on_path(folder / 'node_modules' / 'node' / 'bin')} "
    return "" if str(found) == shutil.which("node") else f"{_on_path(found.parent)} "


def _on_path(folder: Path) -> str:
    return f'PATH={shlex.quote(str(folder))}:"$PATH"'


@functools.cache
def version_of(program: Path) -> str:
    """What ``program --version`` says, as far as it looks like a version; empty otherwise."""
    try:
        done = subprocess.run(
            [str(program), "--version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _VERSION.search((done.stdout + done.stderr).decode("utf-8", "replace"))
    return found[0] if found else ""


def _installed_version(program: Path, package: str) -> str:
    """The version in what the package manager wrote: starting some runtimes takes seconds."""
    for folder in program.resolve().parents:
        try:
            data = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(data, dict) and data.get("name") == package:
            return str(data.get("version", ""))
    name = re.sub(r"[-_.]+", "_", package).lower()
    for info in sorted(program.parent.parent.glob("lib/python*/site-packages/*.dist-info")):
        found, _, version = info.name.removesuffix(".dist-info").partition("-")
        if re.sub(r"[-_.]+", "_", found).lower() == name:
            return version
    return ""


@functools.cache
def _digest(program: Path) -> str:
    with program.resolve().open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _order(folder: Path) -> tuple[tuple[int, ...], str]:
    version = folder.name.partition("@")[2]
    return _numbers(version), version


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
