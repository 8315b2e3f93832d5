"""Where in a ledger the lines of each trial are, so that its records can be read one at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from pytest_agentbench.decoder import line_decoder
from pytest_agentbench.record import SCHEMA_VERSION, Record
from pytest_agentbench.report.ledger import LedgerError, check_schema, enter, last
from pytest_agentbench.report.parsing import parsed

_START = f'{{"schema":"{SCHEMA_VERSION}","event":"'.encode()
_GRADED, _CLOSED = _START + b'graded","key":"', _START + b'closed","key":"'
_CLOSED_END = b'","survivors":[]}\n'


class LedgerIndex:
    """A ledger of any size: it keeps the place of each line, and no record.

    A place is one number: where the line begins, its length, and whether a ``closed`` line without
    survivors follows. Keys with other lines than these two have a list of places. Use it in a
    ``with`` statement. Raises ``LedgerError`` as ``ledger.read`` does.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[bytes, int | list[int]] = {}
        self._record = line_decoder(Record)
        try:
            self._file: BinaryIO | None = path.open("rb", buffering=1 << 20)
        except FileNotFoundError:
            self._file = None
        except OSError as error:
            raise LedgerError(
                f"{path.name}: cannot be read: {error.strerror}. Choose another --run-dir"
            ) from error

    def __enter__(self) -> Self:
        start = 0
        with contextlib.ExitStack() as stack:
            stack.callback(self._close)
            for number, line in enumerate(self._file or (), 1):
                self._add(line, start, number)
                start += len(line)
            stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def __iter__(self) -> Iterator[str]:
        """Each key of which there may be a record."""
        return (key.decode() for key in self._places)

    def __len__(self) -> int:
        return len(self._places)

    def record(self, key: str) -> Record | None:
        """What ``ledger.read`` has for ``key``; None if there is no record of it."""
        places = self._places.get(key.encode("utf-8", "surrogatepass"))
        if places is None:
            return None
        quick = self._quickly(places) if isinstance(places, int) else None
        if quick is not None and quick.key == key:
            return quick
        history: dict[str, list[Record]] = {}
        for place in places if isinstance(places, list) else (places,):
            data = _parsed(self._line(place))
            if data is not None:
                enter(data | ({"closed": True} if place & 1 else {}), history)
        records = history.get(key)
        return last(records) if records else None

    def _quickly(self, place: int) -> Record | None:
        """The record of a line that begins as ours do, if nothing is wrong with it."""
        line = self._line(place)
        if line.startswith(_GRADED):
            # What follows it, told in its own line: a record is built once.
            line = b'{"closed":true,' + line[1:] if place & 1 else line
            try:
                return self._record(line)
            except (ValueError, RecursionError):
                pass
        return None

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _line(self, place: int) -> bytes:
        assert self._file is not None
        self._file.seek(place >> 33)
        return self._file.read(place >> 1 & 0xFFFFFFFF)

    def _add(self, line: bytes, start: int, number: int) -> None:
        # Our own lines begin alike, and are parsed when the record is asked for. The key of a line
        # that was torn has a place too, and comes to nothing then.
        place = start << 33 | len(line) << 1
        if line.startswith(_GRADED):
            key = line[len(_GRADED) : line.find(b'"', len(_GRADED))]
            if b"\\" not in key:
                self._put(key, place)
                return
        elif line.startswith(_CLOSED) and line.endswith(_CLOSED_END):
            key = line[len(_CLOSED) : -len(_CLOSED_END)]
            known = self._places.get(key)
            if isinstance(known, int) and not known & 1:
                self._places[key] = known | 1
                return
        data = _parsed(line)
        if data is None:
            return
        check_schema(data, f"{self.path.name}:{number}")
        if data.get("event") in ("graded", "closed") and isinstance(data.get("key"), str):
            self._put(data["key"].encode("utf-8", "surrogatepass"), place)

    def _put(self, key: bytes, place: int) -> None:
        known = self._places.get(key)
        if known is None:
            self._places[key] = place
        elif isinstance(known, list):
            known.append(place)
        else:
            self._places[key] = [known, place]


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The object that a line holds; None for a blank or a torn one."""
    try:
        data = parsed(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
