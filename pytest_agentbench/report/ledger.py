"""The ledger: an append-only file of records, one JSON object a line."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Attempt
from pytest_agentbench.flag import Flag
from pytest_agentbench.record import SCHEMA_VERSION, Record
from pytest_agentbench.status import Status, TrialFault, status_of


class LedgerError(Exception):
    """A ledger that this version cannot read; the message is shown as it stands."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Appends lines to the file ``path``, from any number of processes at once."""

    path: Path

    def append(self, line: Mapping[str, Any], *, wait: bool = True) -> None:
        """Write ``line`` and, unless ``wait`` is false, wait until it is on the disk.

        A line is there whole or not at all. Raises ``TrialFault`` (``no_space``) when the disk
        or the quota is full, and ``OSError`` for any other failure.
        """
        data = encode(line)
        try:
            fd = self._open()
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                self._append(fd, data, wait)
            finally:
                os.close(fd)
        except OSError as error:
            if status_of(error) is not Status.NO_SPACE:
                raise
            raise TrialFault(
                Status.NO_SPACE,
                f"{self.path.name}: no space left to record a trial; what was recorded so far "
                "is kept, free some space and run again with the same --run-dir to go on",
            ) from error

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        with contextlib.suppress(FileNotFoundError):
            return os.open(self.path, flags, 0o644)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(self.path, flags, 0o644)

    def _append(self, fd: int, data: bytes, wait: bool) -> None:
        size = os.fstat(fd).st_size
        if size == 0:
            _sync_folder(self.path.parent)
        elif os.pread(fd, 1, size - 1) != b"\n":
            # A process that was killed while it wrote left half a line: it must not spoil ours.
            data = b"\n" + data
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(fd, rest) :]
            if wait:
                os.fsync(fd)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, size)
            raise


def unwritten(error: OSError | TrialFault) -> str:
    """Why a run cannot be recorded any more, and how to go on."""
    if isinstance(error, TrialFault):
        return str(error)
    name = Path(str(error.filename)).name if error.filename else "the run folder"
    return (
        f"cannot write {name}: {error.strerror}; what was recorded so far is kept, mend that and "
        "run again with the same --run-dir to go on"
    )


def encode(line: Mapping[str, Any]) -> bytes:
    """``line`` as one line of ASCII JSON. Numbers that JSON does not have become null."""
    try:
        text = json.dumps(line, allow_nan=False, separators=(",", ":"), default=str)
    except ValueError:
        text = json.dumps(_finite(line), allow_nan=False, separators=(",", ":"), default=str)
    return text.encode() + b"\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerView:
    """What a ledger holds.

    ``records`` has one record a key: the last that has a score, else the last. What the same
    trial went through before, without a score, is among the record's ``attempts``; that a run was
    stopped before or during it is not.
    ``history`` has all records of a key in the order of the file. ``torn`` counts lines that
    are no JSON object, ``foreign`` those that are no record of ours.
    """

    records: Mapping[str, Record] = field(default_factory=dict)
    history: Mapping[str, tuple[Record, ...]] = field(default_factory=dict)
    lines: int = 0
    torn: int = 0
    foreign: int = 0


def read(path: Path) -> LedgerView:
    """Read the ledger ``path``; one that does not exist is empty.

    Raises ``LedgerError`` when a line was written by a version whose records mean other things, or
    when it is no file that can be read.
    """
    history: dict[str, list[Record]] = {}
    lines = torn = foreign = 0
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return LedgerView()
    except OSError as error:
        raise LedgerError(
            f"{path.name}: cannot be read: {error.strerror}. Choose another --run-dir"
        ) from error
    with file:
        for number, raw in enumerate(file, 1):
            if not raw.strip():
                continue
            lines += 1
            try:
                data = json.loads(raw)
            except (ValueError, RecursionError):
                data = None
            if not isinstance(data, dict):
                torn += 1
                continue
            check_schema(data, f"{path.name}:{number}")
            foreign += not enter(data, history)
    return LedgerView(
        records={key: last(records) for key, records in history.items()},
        history={key: tuple(records) for key, records in history.items()},
        lines=lines,
        torn=torn,
        foreign=foreign,
    )


def check_schema(data: Mapping[str, Any], place: str) -> None:
    """Raise ``LedgerError`` for a line of another schema."""
    version = data.get("schema", SCHEMA_VERSION)
    ours = SCHEMA_VERSION.partition(".")[0]
    if str(version).partition(".")[0] != ours:
        raise LedgerError(
            f"{place}: record schema {version!r}; this version of pytest-agentbench reads schema "
            f"{ours}.x. Read the ledger with the version that wrote it, or choose another --run-dir"
        )


def enter(data: Mapping[str, Any], history: dict[str, list[Record]]) -> bool:
    """Take the line into ``history``; False when it is not one of ours."""
    try:
        if data["event"] == "closed":
            records = history[data["key"]]
            survivors = tuple(map(str, data["survivors"]))
            records[-1] = dataclasses.replace(records[-1], closed=True, survivors=survivors)
            return True
        if data["event"] != "graded":
            return False
        record = Record.from_json(data)
        history.setdefault(record.key, []).append(record)
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
    return True


def last(records: list[Record]) -> Record:
    """The record that counts of those of one key, in the order of the file."""
    if len(records) == 1:
        return records[0]
    # A score that is on the disk stands: a controller that lost sight of the worker may add
    # "worker_lost" after it.
    scored = [place for place, record in enumerate(records) if record.graded]
    place = scored[-1] if scored else len(records) - 1
    before = tuple(
        Attempt(status=record.status, message=record.message, seconds=record.seconds)
        for record in records[:place]
        if not record.graded and record.status.policy.counts != "not run"
    )
    chosen = records[place]
    if any(Flag.RERUN in record.flags for record in records) and Flag.RERUN not in chosen.flags:
        chosen = dataclasses.replace(chosen, flags=(*chosen.flags, Flag.RERUN))
    if len(scored) > 1:
        chosen = dataclasses.replace(chosen, flags=(*chosen.flags, Flag.GRADED_AGAIN))
    return dataclasses.replace(chosen, attempts=before + chosen.attempts) if before else chosen
