"""A checkout of NanoClaw: found, and its agent-runner copied to where a run can use it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_agentbench.runtimes.locate import runtimes_folder
from pytest_agentbench.runtimes.protocol import RuntimeUnavailable
from pytest_agentbench.trial import RuntimeProfile

TESTED = "2.0.64"
BUN = "1.3.12"


@dataclass(frozen=True, slots=True)
class Checkout:
    """The folder of a repository in which the runner's packages are installed."""

    root: Path

    @property
    def runner(self) -> Path:
        return self.root / "container" / "agent-runner"

    @property
    def bin(self) -> Path:
        """Where ``bun`` is, which the runner itself looks for on PATH too."""
        return self.runner / "node_modules" / ".bin"

    @property
    def claude(self) -> Path | None:
        """The program that drives the model, which comes with the runner's packages."""
        name = "claude-agent-sdk-*/claude"
        found = sorted((self.runner / "node_modules" / "@anthropic-ai").glob(name))
        return next((path for path in found if os.access(path, os.X_OK)), None)

    @property
    def version(self) -> str:
        try:
            return str(json.loads((self.root / "package.json").read_bytes())["version"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    @property
    def digest(self) -> str:
        """SHA-256 over the names and the contents of the runner's sources."""
        total = hashlib.sha256()
        for path in sorted((self.runner / "src").rglob("*.ts")):
            total.update(f"{path.relative_to(self.runner)}\0".encode())
            total.update(path.read_bytes())
        return total.hexdigest()

    @property
    def missing(self) -> str:
        """The first thing that is not there; empty if all is."""
        for path in (self.runner / "src" / "index.ts", self.bin / "bun"):
            if not path.exists():
                return str(path)
        return "" if self.claude else "the program claude of @anthropic-ai/claude-agent-sdk"

    def copy(self, folder: Path, places: Mapping[str, Path]) -> None:
        """The runner's sources, where the paths of its container are those of the run.

        It has them as texts: there is no setting for them.
        """
        shutil.copytree(
            self.runner / "src", folder / "src", ignore=shutil.ignore_patterns("*.test.ts")
        )
        for name in ("package.json", "tsconfig.json"):
            shutil.copy(self.runner / name, folder / name)
        (folder / "node_modules").symlink_to(self.runner / "node_modules")
        for path in (folder / "src").rglob("*"):
            if path.suffix in (".ts", ".md"):
                path.write_text(_moved(path.read_text("utf-8"), places), "utf-8")

    def instructions(self, places: Mapping[str, Path]) -> str:
        """What its host tells every agent: of itself, and of each tool."""
        parts = sorted((self.runner / "src" / "mcp-tools").glob("*.instructions.md"))
        files = [path for path in (self.root / "container" / "CLAUDE.md", *parts) if path.exists()]
        return _moved("\n\n".join(path.read_text("utf-8") for path in files), places)


def checkout(profile: RuntimeProfile) -> Checkout:
    """The one that the profile names, else one in the folder of runtimes.

    Raises ``RuntimeUnavailable``.
    """
    named = profile.options.get("path")
    version = profile.version or TESTED
    folder = Path(str(named)).expanduser() if named else runtimes_folder() / f"nanoclaw@{version}"
    found = Checkout(folder.absolute())
    if missing := found.missing:
        raise RuntimeUnavailable(
            f"there is no agent-runner of NanoClaw in {found.root}: {missing} is not there. It has "
            f"no package: check the repository qwibitai/nanoclaw out there at version {version}, "
            f"then\n    {install(found)}"
        )
    if profile.version and found.version != profile.version:
        raise RuntimeUnavailable(
            f"{found.root} is version {found.version or 'unknown'} of NanoClaw, not "
            f"{profile.version}"
        )
    return found


def install(found: Checkout) -> str:
    """The command that installs what the runner of a checkout needs."""
    folder = shlex.quote(str(found.runner))
    return f"npm install --prefix {folder} --omit=dev --no-save bun@{BUN}"


def _moved(text: str, places: Mapping[str, Path]) -> str:
    names = "|".join(map(re.escape, sorted(places, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.])(?:{names})(?![\w-])", lambda m: str(places[m[0]]), text)
