"""A run's own folders in a model's answer, and what stands for them on a cassette.

A model repeats the paths that it reads. In a stream a path may be spread over several events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_agentbench.gateway.backend import Unsent

_EVENT = re.compile(rb".*?\r?\n\r?\n|.+\Z", re.DOTALL)
#: Where a text is within the JSON of an event.
_Place = tuple[str | int, ...]


def put_aside(pieces: Sequence[bytes], folders: Mapping[str, str], *, stream: bool) -> list[bytes]:
    """The pieces of an answer with a name in place of each folder; as they are if it has none."""
    if not folders:
        return list(pieces)
    names = re.compile("|".join(map(re.escape, sorted(folders, key=len, reverse=True))))
    return (_stream if stream else _whole)(pieces, folders, names)


def put_back(piece: bytes, folders: Mapping[str, str]) -> bytes:
    """A piece with the folders of this run, which ``folders`` gives by the names put aside."""
    said = piece
    for name, folder in folders.items():
        said = said.replace(name.encode(), json.dumps(folder)[1:-1].encode())
    return Unsent(said) if isinstance(piece, Unsent) else said


def _whole(
    pieces: Sequence[bytes], folders: Mapping[str, str], names: re.Pattern[str]
) -> list[bytes]:
    try:
        said = b"".join(pieces).decode("utf-8")
    except UnicodeDecodeError:
        return list(pieces)
    new = names.sub(lambda found: folders[found[0]], said)
    return list(pieces) if new == said else [new.encode()]


def _stream(
    pieces: Sequence[bytes], folders: Mapping[str, str], names: re.Pattern[str]
) -> list[bytes]:
    events = list(_events(pieces))
    said = [_json(event) for event in events]
    texts: dict[_Place, list[tuple[int, Any, Any]]] = {}
    for number, data in enumerate(said):
        for place, within, key in _texts(data):
            texts.setdefault(place, []).append((number, within, key))
    changed: set[int] = set()
    for rows in texts.values():
        before = [within[key] for _, within, key in rows]
        for (number, within, key), old, new in zip(
            rows, before, _renamed(before, folders, names), strict=True
        ):
            if new != old:
                within[key] = new
                changed.add(number)
    if not changed:
        return list(pieces)
    for number in changed:
        head, _, _ = events[number].partition(b"data:")
        body = head + b"data: " + json.dumps(said[number], ensure_ascii=False).encode() + b"\n\n"
        events[number] = Unsent(body) if isinstance(events[number], Unsent) else body
    return events


def _events(pieces: Sequence[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        if not isinstance(piece, Unsent):
            rest += piece
            continue
        yield from _EVENT.findall(rest)
        yield piece
        rest = b""
    yield from _EVENT.findall(rest)


def _json(event: bytes) -> Any:
    head, data, body = event.partition(b"data:")
    try:
        return json.loads(body) if data and b"\n\n" not in head else None
    except (ValueError, RecursionError):
        return None


def _texts(value: Any, place: _Place = ()) -> Iterator[tuple[_Place, Any, Any]]:
    """Where each text is, what holds it, and as what."""
    rows: Iterable[tuple[Any, Any]] = enumerate(value) if isinstance(value, list) else ()
    rows = value.items() if isinstance(value, dict) else rows
    for key, each in rows:
        if isinstance(each, str):
            yield (*place, key), value, key
        elif isinstance(each, list | dict):
            yield from _texts(each, (*place, key))


def _renamed(texts: Sequence[str], folders: Mapping[str, str], names: re.Pattern[str]) -> list[str]:
    """Texts that follow one another, in which a folder may begin in one and end in another."""
    found = list(names.finditer("".join(texts)))
    renamed, start = [], 0
    for text in texts:
        end, new, at = start + len(text), "", start
        for match in found:
            if match.end() <= start or match.start() >= end:
                continue
            new += text[at - start : max(match.start() - start, 0)]
            if match.start() >= start:
                new += folders[match[0]]
            at = min(match.end(), end)
        renamed.append(new + text[at - start :])
        start = end
    return renamed
