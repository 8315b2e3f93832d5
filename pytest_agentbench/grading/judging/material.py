"""What a judge is shown: values, and the budgets that hold for them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

Role = Literal["answer", "listing", "made", "changed", "input", "trace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that one judge call is shown. Characters are those after decoding.

    Of a text that is longer, the first two thirds and the last third are shown, with a mark
    between them that says how much is not. ``image_bytes`` is for one image.
    """

    files: int = 40
    file_characters: int = 12_000
    all_characters: int = 60_000
    event_characters: int = 1_200
    trace_characters: int = 30_000
    listed: int = 200
    images: int = 4
    image_bytes: int = 512 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One thing to look at, as a judge sees it: nothing hidden in it, and nothing to be obeyed.

    ``name`` is a path relative to the workspace, or says what it is. ``characters`` is the length of
    the whole text, of which ``text`` may be a part. ``image`` is base64, with its ``media`` type.
    """

    name: str
    role: Role
    text: str = ""
    characters: int = 0
    image: str = ""
    media: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Something in ``where`` that speaks to whoever judges; ``what`` says how, in words."""

    where: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """All that is shown of one trial.

    ``attempts`` are the agent's own: what it only read is withheld too, and not held against it.
    ``unread`` says of deliverables why they cannot be shown although a person could open them:
    judging without them would be no verdict.
    """

    pieces: tuple[Piece, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    unread: tuple[str, ...] = ()

    def of(self, kind: str) -> tuple[Piece, ...]:
        """What criteria of ``kind`` are judged by.

        Completion sees what was left and said, process the way there and the names of files.
        """
        roles = _SEEN[kind]
        return tuple(piece for piece in self.pieces if piece.role in roles)

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            pieces=tuple(Piece(**each) for each in data["pieces"]),
            attempts=tuple(Attempt(**each) for each in data["attempts"]),
            unread=tuple(data["unread"]),
        )


_SEEN: Mapping[str, tuple[Role, ...]] = {
    "completion": ("answer", "listing", "made", "changed", "input"),
    "process": ("answer", "listing", "trace"),
    "whole": ("answer", "listing", "made", "changed", "input", "trace"),
}


def cut(text: str, limit: int) -> str:
    """``text`` within ``limit`` characters, a mark for what is not shown aside."""
    if len(text) <= limit:
        return text
    head, tail = limit - limit // 3, limit // 3
    left_out = len(text) - head - tail
    mark = f"\n⟦… {left_out:,} of {len(text):,} characters are not shown …⟧\n"
    return f"{text[:head]}{mark}{text[len(text) - tail :]}"


def digest(value: Any) -> str:
    """SHA-256 of plain JSON, in hex."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
