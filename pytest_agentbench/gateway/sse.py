"""Server-sent events, as all four dialects stream them."""

from __future__ import annotations

import contextlib
import json
from typing import Any

_LIMIT = 16 << 20
#: With what a line begins that is none of an event's data.
_FIELDS = (b"event:", b"id:", b"retry:", b":")


def event(data: Any, name: str = "") -> bytes:
    """One event with ``data`` as JSON, or as it is where it is a text."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode("utf-8", "surrogatepass")


class Reader:
    """Puts events together from pieces as they come: a few bytes, or several events at once."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._bare: list[bytes] = []
        #: Whether an event was no JSON, as all are but the mark at the end of some streams.
        self.broken = False

    def feed(self, piece: bytes) -> list[Any]:
        """The JSON of all events that are complete now; what is no JSON is left out."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > _LIMIT:
            self._rest = b""
        found = []
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                data, self._data = b"\n".join(self._data), []
                try:
                    found.append(json.loads(data))
                except (ValueError, RecursionError):
                    self.broken = self.broken or data != b"[DONE]"
            elif not line and self._bare:
                # Gemini ends a stream with an error that is no event.
                bare, self._bare = b"\n".join(self._bare), []
                with contextlib.suppress(ValueError, RecursionError):
                    found.append(json.loads(bare))
            elif line and not line.startswith(_FIELDS):
                self._bare.append(line)
        return found

    def end(self) -> list[Any]:
        """What is complete now that nothing will follow."""
        return self.feed(b"\n\n")
