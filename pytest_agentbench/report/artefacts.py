"""Files that a trial leaves as evidence: ``trials/<key>/``."""

from __future__ import annotations

import functools
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_agentbench.execution import Execution
from pytest_agentbench.files import read_regular
from pytest_agentbench.plain import plain
from pytest_agentbench.record import Record
from pytest_agentbench.redaction import Redactor
from pytest_agentbench.report.changes import Change
from pytest_agentbench.trace.atif import to_atif
from pytest_agentbench.trace.canonical import to_json
from pytest_agentbench.trace.events import Event

PROMPT, TRACE, WORKSPACE = "prompt.txt", "trace.jsonl", "workspace"
STDOUT, STDERR, GRADE, JUDGING = "stdout", "stderr", "grade.json", "judging.json"
TRAJECTORY, CHANGES, DIFF = "trajectory.json", "workspace.json", "workspace.diff"
NAMES = (PROMPT, STDOUT, STDERR, TRACE, TRAJECTORY, CHANGES, DIFF, GRADE, JUDGING)
#: Characters of the prompt, and bytes of any file, that are kept.
_PROMPT_LIMIT = 1 << 20
LIMIT = 16 << 20
#: Earlier tries of a trial whose evidence is kept.
TRIES = 5
#: Bytes from which on a file is compressed.
_LARGE = 64 << 10


def contents(
    record: Record,
    execution: Execution | None,
    prompt: str = "",
    changed: Iterable[Change] = (),
    diff: str = "",
    judging: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    """What is kept of a trial, by the name of its file; empty where there is nothing.

    Text, bytes, plain JSON, or what makes such; a list is one JSON a line.
    """
    if execution is None:
        return {}
    done, trace = execution.completed, execution.trace
    listed = [change.to_json() for change in changed]

    def trajectory() -> Any:
        return to_atif(
            trace,
            agent=record.adapter,
            version=str(record.observed.get("runtime_version", "")),
            model=record.model,
            usage=record.usage,
            session_id=record.key,
            started=record.started,
        )

    return {
        PROMPT: prompt[:_PROMPT_LIMIT],
        STDOUT: done.stdout,
        STDERR: done.stderr,
        TRACE: [functools.partial(_event, event) for event in trace.events],
        TRAJECTORY: trajectory if trace.events else {},
        CHANGES: {"files": listed} if listed else {},
        DIFF: diff,
        GRADE: plain(record.grade) if record.grade else {},
        JUDGING: judging or {},
    }


def _event(event: Event) -> Any:
    return plain(to_json(event))


def write_artefacts(folder: Path, files: Mapping[str, Any], redactor: Redactor) -> None:
    """Write what is not empty of ``files``, without secrets.

    Those of an earlier try go to ``attempt-N`` beside them, N from 1, of the first ``TRIES``.

    A file of ``_LARGE`` bytes or more is compressed, as ``NAME.gz``. The same content gives the
    same bytes. Raises ``OSError``.
    """
    if not files:
        return  # the agent was never started: what an earlier try left says more
    if any(files.values()):
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            _set_aside(folder)
    else:
        _set_aside(folder)
    for name, content in files.items():
        if content:
            write_one(folder, name, content, redactor)


def write_one(folder: Path, name: str, content: Any, redactor: Redactor) -> None:
    """Write one file of ``write_artefacts``. Raises ``OSError``."""
    data = b"".join(_pieces(content, redactor))[:LIMIT]
    if len(data) < _LARGE:
        (folder / name).write_bytes(data)
    else:
        (folder / f"{name}.gz").write_bytes(gzip.compress(data, 6, mtime=0))


def read(folder: Path, name: str, limit: int = LIMIT) -> bytes:
    """The first ``limit`` bytes of a file of a trial, compressed or not; empty if there is none."""
    try:
        return read_regular(folder / name, limit)
    except OSError:
        pass
    try:
        packed = read_regular(folder / f"{name}.gz", LIMIT)
        # 31: with the header of gzip. Bounded, whatever the file says of itself.
        return zlib.decompressobj(31).decompress(packed, limit)
    except (OSError, zlib.error):
        return b""


def _set_aside(folder: Path) -> None:
    names = [each for name in NAMES for each in (name, f"{name}.gz") if (folder / each).is_file()]
    if not names:
        return
    free = (folder / f"attempt-{number}" for number in range(1, TRIES + 1))
    place = next((each for each in free if not each.exists()), None)
    if place is not None:
        place.mkdir()
    for name in names:
        if place is not None:
            (folder / name).replace(place / name)
        else:
            (folder / name).unlink()


def _pieces(content: Any, redactor: Redactor) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield redactor.data(content)
    elif isinstance(content, str):
        yield redactor.text(content).encode("utf-8", "backslashreplace")
    elif isinstance(content, list):
        size = 0
        for row in content:
            line = _json(row, redactor)
            size += len(line)
            if size > LIMIT:
                return  # a line is there whole or not at all
            yield line
    else:
        yield _json(content, redactor)


def _json(content: Any, redactor: Redactor) -> bytes:
    """One line. An agent may nest what it says deeper than can be written: then that is said."""
    try:
        return redactor.json(content() if callable(content) else content).encode() + b"\n"
    except (RecursionError, TypeError, ValueError) as error:
        return json.dumps({"not_kept": f"{type(error).__name__}: {error}"}).encode() + b"\n"
