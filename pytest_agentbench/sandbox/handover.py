"""Files that the user inside a container writes to, and who owns them meanwhile."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_agentbench.execution import View
from pytest_agentbench.status import Status, TrialFault

#: The ordinary user inside when the caller is root; other callers are themselves.
USER = 65534


@contextlib.contextmanager
def handed_over(view: View) -> Iterator[None]:
    """Let the user inside own what it may write to, while the command runs.

    Only root has to: the container of another caller runs as the caller. It opens nothing to
    others, and afterwards all is the caller's again, whoever made it.
    """
    if os.geteuid() != 0:
        yield
        return
    for path in view.readable:
        if path.exists() and not path.stat().st_mode & 0o004:
            raise TrialFault(
                Status.SANDBOX_ERROR,
                f"docker: {path} may not be read by others, and the command runs as user {USER}; "
                f"run: chmod -R o+rX {path}",
            )
    gateway = (view.gateway,) if view.network == "gateway" and view.gateway else ()
    _own((*view.writable, *gateway), USER)
    try:
        yield
    finally:
        _own((*view.writable, *gateway), 0)


def _own(paths: Iterable[Path], user: int) -> None:
    """Change the owner of all below ``paths``, however deep, and of no target of a link."""
    there = [str(path) for path in paths if path.exists()]
    if there:
        chown = ("chown", "-hRP", f"{user}:{user}", "--", *there)
        done = subprocess.run(chown, check=False, capture_output=True)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()
            raise TrialFault(Status.SANDBOX_ERROR, f"docker cannot hand over files: {said[:500]}")
