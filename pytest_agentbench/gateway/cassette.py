"""A cassette: the model calls of a trial and their answers, as a file of JSON lines.

The first line says whose calls they are. Lines with ``part`` hold what several requests have in
common, such as tools and the messages so far; those with ``key`` are the calls.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.gateway.backend import Unsent
from pytest_agentbench.gateway.fingerprint import Fingerprint
from pytest_agentbench.trial import Trial

FORMAT = 1
#: Characters of JSON from which on something is a part of its own.
_PART = 200
_UNSAFE = "/\\\0"


class CassetteError(Exception):
    """A cassette that is not there, or makes no sense; the message is for people."""


def cassette_path(folder: Path, trial: Trial) -> Path:
    """Where the calls of ``trial`` are kept."""
    label = "".join("_" if sign in _UNSAFE else sign for sign in trial.label)
    return folder / trial.scenario.id / f"{label}.jsonl"


@dataclass(slots=True, kw_only=True)
class Take:
    """One recorded call.

    ``end`` is how the answer ended: ``whole``, ``error`` (one of the gateway's own, with
    ``status``, ``message`` and ``code``), ``hung up``, or ``left``, where the runtime went away.
    """

    key: str
    occurrence: int
    number: int
    request: Mapping[str, Any]
    status: int = 0
    content_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: list[bytes] = field(default_factory=list)
    end: str = "left"
    message: str = ""
    code: str = ""


class Cassette:
    """``facts`` is the first line: whose calls they are, and what answered them."""

    def __init__(self, path: Path, facts: Mapping[str, Any], takes: list[Take]) -> None:
        self.path = path
        self.facts = facts
        self.takes = takes
        self._asked = Counter(take.key for take in takes)

    def begin(self, print_: Fingerprint) -> Take:
        """A new take, to be filled."""
        self._asked[print_.key] += 1
        take = Take(
            key=print_.key,
            occurrence=self._asked[print_.key],
            number=len(self.takes) + 1,
            request=print_.request,
        )
        self.takes.append(take)
        return take

    def find(self, key: str, occurrence: int) -> Take | None:
        takes = (take for take in self.takes if take.key == key)
        return next((take for take in takes if take.occurrence == occurrence), None)

    def save(self) -> None:
        """Write it in place of what was there."""
        parts: dict[str, Any] = {}
        takes = sorted(self.takes, key=lambda take: (take.key, take.occurrence))
        calls = [_take_json(take, parts) for take in takes]
        lines: list[Mapping[str, Any]] = [{"cassette": FORMAT, **self.facts}]
        lines += [{"part": name, "value": parts[name]} for name in sorted(parts)]
        text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in (*lines, *calls))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(text, "utf-8")
        new.replace(self.path)

    @classmethod
    def load(cls, path: Path) -> Cassette:
        """Raises ``CassetteError``."""
        parts: dict[str, Any] = {}
        try:
            first, *lines = map(json.loads, path.read_text("utf-8").splitlines())
            if first["cassette"] != FORMAT:
                raise CassetteError(
                    f"{path}: its format is {first['cassette']!r}, and this version reads "
                    f"{FORMAT}; record it again with --record"
                )
            parts = {line["part"]: line["value"] for line in lines if "part" in line}
            takes = [_take(line, parts) for line in lines if "key" in line]
        except FileNotFoundError:
            raise CassetteError(f"there is no {path}; record the trial with --record") from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CassetteError(
                f"{path} is no cassette: {type(error).__name__}: {error}; record it again with "
                "--record"
            ) from error
        facts = {key: value for key, value in first.items() if key != "cassette"}
        return cls(path, facts, sorted(takes, key=lambda take: take.number))


def _take_json(take: Take, parts: dict[str, Any]) -> dict[str, Any]:
    body = take.request["body"]
    data = {
        "key": take.key,
        "occurrence": take.occurrence,
        "number": take.number,
        "request": {**take.request, "body": {key: _packed(body[key], parts) for key in body}},
        "status": take.status,
        "type": take.content_type,
        "headers": dict(take.headers),
        "pieces": [_piece_json(piece) for piece in take.pieces],
        "end": take.end,
        "message": take.message,
        "code": take.code,
    }
    return {key: value for key, value in data.items() if value not in ("", {}, [], 0)}


def _take(line: Mapping[str, Any], parts: Mapping[str, Any]) -> Take:
    request = line["request"]
    body = {key: _unpacked(value, parts) for key, value in request["body"].items()}
    return Take(
        key=line["key"],
        occurrence=line["occurrence"],
        number=line["number"],
        request={**request, "body": body},
        status=line.get("status", 0),
        content_type=line.get("type", ""),
        headers=line.get("headers", {}),
        pieces=[_piece(piece) for piece in line.get("pieces", ())],
        end=line["end"],
        message=line.get("message", ""),
        code=line.get("code", ""),
    )


def _packed(value: Any, parts: dict[str, Any]) -> Any:
    """A value of a request, in which what is long is named and kept once."""
    if isinstance(value, list):
        return [_packed(each, parts) if not isinstance(each, list) else each for each in value]
    text = json.dumps(value, sort_keys=True)
    if len(text) < _PART:
        return value
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    parts[name] = value
    return {"{{part}}": name}


def _unpacked(value: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_unpacked(each, parts) if not isinstance(each, list) else each for each in value]
    return parts[value["{{part}}"]] if isinstance(value, dict) and "{{part}}" in value else value


def _piece_json(piece: bytes) -> Any:
    try:
        said: Any = piece.decode("utf-8")
    except UnicodeDecodeError:
        said = {"base64": base64.b64encode(piece).decode()}
    return {"unsent": said} if isinstance(piece, Unsent) else said


def _piece(said: Any) -> bytes:
    if isinstance(said, str):
        return said.encode("utf-8")
    if "unsent" in said:
        return Unsent(_piece(said["unsent"]))
    return base64.b64decode(said["base64"])
