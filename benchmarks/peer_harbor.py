"""An environment for Harbor that is a folder: what is left is the cost of Harbor's own machinery.

Harbor has no environment without a container engine or a cloud account, but it loads one that it
is given: ``--env peer_harbor:Folder``.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

#: The roots that Harbor expects inside a container.
_ROOTS = re.compile(r"(?<![\w/.])/(?=(?:app|installed-agent|logs|solution|tests)\b)")


class Folder(BaseEnvironment):
    """Runs commands on this machine, with the container's roots moved into a folder."""

    @staticmethod
    def type() -> str:
        return "folder"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities()

    def _validate_definition(self) -> None:
        pass

    async def start(self, force_build: bool) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="agentbench-harbor-"))
        for name in ("agent", "artifacts", "verifier"):
            (self.root / "logs" / name).mkdir(parents=True)

    async def stop(self, delete: bool) -> None:
        shutil.rmtree(self.root)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        target = self._inside(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, target)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        target = self._inside(target_dir)
        shutil.copytree(source_dir, target, dirs_exist_ok=True)
        for path in target.rglob("*.sh"):
            path.write_text(self._text(path.read_text()))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(self._inside(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        source = self._inside(source_dir)
        if source.exists():
            shutil.copytree(source, target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        process = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            self._text(command),
            cwd=self.root,
            env=os.environ | {name: self._text(value) for name, value in (env or {}).items()},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        return ExecResult(
            stdout=out.decode(), stderr=err.decode(), return_code=process.returncode or 0
        )

    def _inside(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def _text(self, text: str) -> str:
        return _ROOTS.sub(f"{self.root}/", text)
