"""A disk that is nearly full ends a command, and is nobody's score."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys; from pathlib import Path
from pytest_agentbench.sandbox.disk import Disk
from pytest_agentbench.status import TrialFault
try: print(repr(Disk((Path(sys.argv[1]),), 1).crossed()))
except TrialFault as fault: print(fault.status, fault)
"""


def on_a_disk_of(size: str, folder: Path) -> str:
    """What the watch says of a file system of that size, mounted in a namespace."""
    argv = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    line = 'mount -t tmpfs -o size="$1" x "$2" && shift 2 && exec "$@"'
    python = [str(folder), sys.executable, "-c", SCRIPT, str(folder)]
    done = subprocess.run(
        [*argv, line, "sh", size, *python],
        capture_output=True,
        check=True,
        text=True,
        env={"PYTHONPATH": str(Path(__file__).parent.parent), "PATH": "/usr/bin:/bin:/usr/sbin"},
    )
    return done.stdout.strip()


def test_a_nearly_full_disk_is_no_space(tmp_path: Path) -> None:
    assert on_a_disk_of("100m", tmp_path) == "''"
    assert on_a_disk_of("10m", tmp_path) == (
        "no_space stopped, since only 10 MiB of the disk are left"
    )
