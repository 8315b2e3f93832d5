"""Runs commands in a sandbox of another user, in a process of its own."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from pytest_agentbench.execution import Command, Completed, View
from pytest_agentbench.status import TrialFault

ROOT = Path(__file__).parent.parent
#: Who runs the harness: root, and an ordinary user if the tests run as root.
USERS = ("root", "ordinary") if os.geteuid() == 0 else ("caller",)
_UID = 65534
#: The shell is what loses root's right to look everywhere: setpriv itself starts it with that.
_BECOME = (
    *("setpriv", f"--reuid={_UID}", f"--regid={_UID}", "--clear-groups", "--"),
    *("sh", "-c", 'exec "$0" "$@"'),
)
_DRIVER = """
import pickle, sys
from pathlib import Path
from pytest_agentbench.sandbox.registry import choose
from pytest_agentbench.status import TrialFault
name, hidden, commands = pickle.load(sys.stdin.buffer)
sandbox = choose(name, hidden=hidden).make()
results = []
for command in commands:
    try:
        results.append(sandbox.run(command))
    except TrialFault as fault:
        results.append(fault.args + (fault.status,))
pickle.dump((results, sandbox.close()), sys.stdout.buffer)
"""


@dataclass(frozen=True, slots=True)
class Sandboxed:
    """The sandbox ``name`` of the user ``who``, and a folder ``root`` of that user's."""

    name: str
    who: str
    root: Path
    python: str
    package: Path

    def run(self, *argv: str, **options: Any) -> Completed:
        """Run ``argv`` in the folder ``ws``, which it may write to; raises ``TrialFault``."""
        result = self.run_all(self.command(*argv, **options))[0]
        if isinstance(result, tuple):
            raise TrialFault(result[1], result[0])
        assert isinstance(result, Completed)
        return result

    def script(self, source: str, *args: str, **options: Any) -> Completed:
        """Run Python source."""
        return self.run(self.python, "-I", "-S", "-c", source, *args, **options)

    def command(self, *argv: str, **options: Any) -> Command:
        view = options.pop("view", View())
        view = replace(view, writable=(self.root / "ws", *view.writable))
        env = {"PATH": os.defpath, "LANG": "C.UTF-8"} | options.pop("env", {})
        return Command(
            argv=argv, cwd=self.root / "ws", env=env, view=view, **{"timeout": 20.0, **options}
        )

    def run_all(self, *commands: Command, hidden: tuple[Path, ...] = ()) -> list[Any]:
        done = subprocess.run(
            self.start(_DRIVER),
            input=pickle.dumps((self.name, hidden, commands)),
            capture_output=True,
            check=False,
            env=self.environment,
            cwd="/",
        )
        assert done.returncode == 0, done.stderr.decode()
        results, survivors = pickle.loads(done.stdout)
        assert survivors == ()
        return list(results)

    def start(self, source: str) -> list[str]:
        """The command line of a harness: Python source, run as the user."""
        return [*(_BECOME if self.who == "ordinary" else []), self.python, "-c", source]

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "PYTHONPATH": str(self.package)}


def requirements(name: str) -> list[str]:
    """A distribution and all that it needs here, without extras."""
    found, new = [], [name]
    while new:
        each = new.pop()
        if each not in found:
            found.append(each)
            needs = map(Requirement, metadata.requires(each) or ())
            new += [need.name for need in needs if not need.marker or need.marker.evaluate()]
    return found


def _copy(distribution: metadata.Distribution, target: Path) -> None:
    """The packages of a distribution, for a user who cannot see the environment it is in."""
    for top in sorted({path.parts[0] for path in distribution.files or ()} - {".."}):
        source = Path(str(distribution.locate_file(top)))
        if source.is_dir():
            shutil.copytree(source, target / top, dirs_exist_ok=True)
        else:
            shutil.copy(source, target / top)


@contextmanager
def sandboxed(name: str, who: str) -> Iterator[Sandboxed]:
    """A sandbox for a user. A folder of its own, since those of pytest are for its user alone."""
    root = Path(tempfile.mkdtemp(prefix="sandboxed-"))
    try:
        (root / "ws").mkdir()
        python, package = sys.executable, ROOT
        if who == "ordinary":
            # The checkout and this Python may lie where an ordinary user cannot look.
            package = root / "package"
            shutil.copytree(ROOT / "pytest_agentbench", package / "pytest_agentbench")
            for name_of in requirements("aiohttp"):
                _copy(metadata.distribution(name_of), package)
            python = _python_for_all()
            for path in (root, *root.rglob("*")):
                os.chown(path, _UID, _UID)
        yield Sandboxed(name, who, root, python, package)
    finally:
        shutil.rmtree(root)


def _python_for_all() -> str:
    """A Python that every user can start."""
    probe = "import sys; sys.exit(sys.version_info < (3, 11))"
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"):
        argv = [*_BECOME, python, "-c", probe]
        if subprocess.run(argv, check=False, capture_output=True).returncode == 0:
            return python
    raise AssertionError("the tests need a Python 3.11 or newer that an ordinary user can start")
