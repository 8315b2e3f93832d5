"""How much of the disk a command may fill."""

from __future__ import annotations

import shutil
from pathlib import Path

from pytest_agentbench.sandbox.census import Census
from pytest_agentbench.status import Status, TrialFault

#: Files and folders in its own folders.
ENTRIES = 200_000
#: MiB of the disk that are never given to a command.
SPARE_MB = 64
#: Seconds for counting files, each time that is looked.
_COUNTING = 0.02


class Disk:
    """Watches the folders of one command, together at most ``limit`` MiB."""

    def __init__(self, folders: tuple[Path, ...], limit: int) -> None:
        self._folder = next(iter(folders), None)
        self._census = Census(folders)
        self._limit = limit

    def crossed(self) -> str:
        """The limit that is crossed, in words, so that the command must end.

        Raises ``TrialFault`` (``no_space``) when the disk is nearly full.
        """
        if self._folder is None:
            return ""
        self._census.count(_COUNTING)
        if self._census.bytes > self._limit << 20:
            return f"workspace: more than {self._limit} MiB in its folders"
        if self._census.entries > ENTRIES:
            return f"workspace: more than {ENTRIES:,} files in its folders"
        free = shutil.disk_usage(self._folder).free >> 20
        if free < SPARE_MB:
            raise TrialFault(
                Status.NO_SPACE, f"stopped, since only {free} MiB of the disk are left"
            )
        return ""
