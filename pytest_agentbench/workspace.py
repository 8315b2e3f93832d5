"""The folder that an agent works in."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from pytest_agentbench.execution import Command, View
from pytest_agentbench.files import read_regular, remove
from pytest_agentbench.sandbox.protocol import Sandbox
from pytest_agentbench.scenario.model import InputFile, Scenario
from pytest_agentbench.status import Status, TrialFault, status_of
from pytest_agentbench.text import cut

if TYPE_CHECKING:
    from pytest_agentbench.json_file import Json

_READ_LIMIT = 16 << 20
_SCRIPT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace at ``root``. ``fill`` puts into the empty folder what an agent starts with."""

    root: Path
    fill: Callable[[Path], None] | None = None

    def __fspath__(self) -> str:
        return str(self.root)

    def __truediv__(self, relative: str) -> Path:
        return self.root / relative

    def path(self, relative: str) -> Path:
        """The path of ``relative``; raises ``ValueError`` for one that leaves the workspace."""
        return self.root / _confined(relative)

    def read_text(self, relative: str) -> str:
        """The text of a file, decoded as UTF-8 with bad bytes replaced."""
        return self.expect_file(relative).text

    def expect_file(self, relative: str) -> File:
        """The regular file ``relative``; raises ``AssertionError`` when it is anything else."""
        path = self.path(relative)
        if not path.is_symlink() and not path.exists():
            there = ", ".join(sorted(path.name for path in self.root.iterdir())) or "nothing"
            raise AssertionError(f"there is no file {relative!r} in the workspace; it has: {there}")
        if not path.resolve().is_relative_to(self.root.resolve()):
            raise AssertionError(f"{relative!r} is a link that leaves the workspace")
        try:
            content = read_regular(path.resolve(), _READ_LIMIT + 1)
        except OSError as error:
            raise AssertionError(f"{relative!r} is no readable file: {error.strerror}") from None
        if len(content) > _READ_LIMIT:
            raise AssertionError(f"{relative!r} is larger than {_READ_LIMIT >> 20} MiB")
        return File(relative, content)

    def expect_json(self, relative: str, expected: Any = ..., *, tolerance: float = 0.0) -> Json:
        """The JSON of the file ``relative``; raises ``AssertionError`` when it is anything else.

        With ``expected`` it must equal that, numbers within ``tolerance``.
        """
        from pytest_agentbench.json_file import parse

        found = parse(relative, self.expect_file(relative).content)
        return found if expected is ... else found.equals(expected, tolerance=tolerance)

    def reset(self) -> None:
        """Make the folder anew, as an agent first finds it. Raises ``TrialFault``."""
        clear(self.root)
        self.root.mkdir(parents=True, exist_ok=True)
        if self.fill is not None:
            self.fill(self.root)

    def settle(self, place: str) -> bool:
        """See that the folder is still the one at the real path ``place``.

        False when an agent removed it, or put a link or a file in its place or in that of the
        trial's folder: it is then made anew, empty, so that nobody works elsewhere by its name.
        Raises ``TrialFault``.
        """
        if os.path.realpath(self.root) == place and self.root.is_dir():
            return True
        for folder in (self.root.parent, self.root):
            if folder.is_symlink() or not folder.is_dir():
                clear(folder)
                folder.mkdir(mode=0o700)
        return False


@dataclass(frozen=True, slots=True)
class File:
    """A file as it was when it was looked at. The methods raise ``AssertionError``."""

    name: str
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    def contains(self, text: str) -> File:
        if text not in self.text:
            raise AssertionError(f"{self.name!r} does not contain {text!r}; it is:\n{self._start}")
        return self

    def equals(self, text: str) -> File:
        if self.text != text:
            raise AssertionError(f"{self.name!r} is not {text!r}; it is:\n{self._start}")
        return self

    def json(self) -> Any:
        """The parsed JSON of the file."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError) as error:
            raise AssertionError(f"{self.name!r} is not JSON ({error}):\n{self._start}") from None

    @property
    def _start(self) -> str:
        return cut(self.text, 500)


def materialise(inputs: Iterable[InputFile], root: Path) -> None:
    """Write the input files below ``root``; a link stays a link. Raises ``TrialFault``."""
    real = root.resolve()
    folders = {root}  # that are there, and inside: what is a folder does not become a link
    for item in inputs:
        try:
            target = root / _confined(item.dest)
            if target.parent not in folders:
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.parent.resolve().is_relative_to(real):
                    raise ValueError("its folder is a link that leaves the workspace")
                folders.add(target.parent)
            _place(item, target)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise TrialFault(
                status_of(error), f"cannot write the input {item.dest!r}: {reason}"
            ) from error


def run_setup(scenario: Scenario, root: Path, sandbox: Sandbox, env: Mapping[str, str]) -> None:
    """Run the scenario's setup script in the workspace, if it has one. Raises ``TrialFault``."""
    if scenario.setup_script is not None:
        _run_script("setup", scenario.setup_script, scenario.id, root, sandbox, env)


def run_teardown(scenario: Scenario, root: Path, sandbox: Sandbox, env: Mapping[str, str]) -> None:
    """Run the scenario's teardown script in the workspace, if any. Raises ``TrialFault``."""
    if scenario.teardown_script is not None:
        _run_script("teardown", scenario.teardown_script, scenario.id, root, sandbox, env)


def _run_script(
    kind: str, script: Path, scenario: str, root: Path, sandbox: Sandbox, env: Mapping[str, str]
) -> None:
    argv = ("bash", str(script.resolve()))
    own = (Path(env[name]) for name in ("HOME", "TMPDIR") if name in env)
    view = View(writable=(root, *own), readable=(script.resolve(),))
    done = sandbox.run(Command(argv=argv, cwd=root, env=env, timeout=_SCRIPT_SECONDS, view=view))
    if done.timed_out or done.exit_code != 0:
        limit = f"no end after {_SCRIPT_SECONDS:g} s"
        ended = limit if done.timed_out else f"exit {done.exit_code}"
        said = "\n".join(done.stderr.decode("utf-8", "replace").splitlines()[-5:])
        raise TrialFault(
            Status.HARNESS_ERROR,
            f"{kind} script {script.name} of {scenario}: {ended}" + (f"\n{said}" if said else ""),
        )


def contents(root: Path) -> tuple[tuple[str, int, int], ...]:
    """Path, size and time of change (ns) of everything below ``root``, sorted."""
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 (a Path costs ten times as much)
            with contextlib.suppress(OSError):  # an agent may have made a path that is too long
                status = os.lstat(path)
                found.append((path, status.st_size, status.st_mtime_ns))
    return tuple(sorted(found))


def clear(root: Path) -> None:
    """Remove ``root`` and all below it, whatever an agent made of it. Raises ``TrialFault``."""
    try:
        remove(root)
    except OSError as error:
        raise TrialFault(
            status_of(error), f"cannot empty the workspace: {error.strerror}"
        ) from error


def _place(item: InputFile, target: Path) -> None:
    if item.source is not None and item.source.is_symlink():
        link = item.source.readlink()
        _confined(str(Path(item.dest).parent / link))
        target.symlink_to(link)
        return
    if item.source is not None:
        shutil.copyfile(item.source, target)
    else:
        target.write_bytes(item.content or b"")
    target.chmod(0o755 if item.executable else 0o644)


def _confined(relative: str) -> PurePosixPath:
    """``relative`` with ``..`` folded; raises ``ValueError`` when it leads outside."""
    folded = PurePosixPath(os.path.normpath(relative))
    if folded.is_absolute() or folded.parts[:1] == ("..",) or "\0" in relative:
        raise ValueError(f"{relative!r} leaves the workspace")
    return folded
