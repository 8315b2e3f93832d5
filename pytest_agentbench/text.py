"""Text of hostile origin, made fit to be kept and printed."""

from __future__ import annotations

from typing import Any


def escape(text: str, limit: int = 300) -> str:
    r"""One line of at most ``limit`` characters.

    What is not printable is escaped as Python does (``\x1b``, ``\n``, ``\u202e``): a terminal
    might act on it, and lone surrogates fit into no file. Longer text ends in an ellipsis.
    """
    shown = text[: limit + 1]
    if not shown.isprintable():
        shown = "".join(
            c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown
        )
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def cut(text: str, limit: int) -> str:
    """The first ``limit`` characters, with the length of the whole where that is more."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def encodable(value: Any) -> Any:
    """``value`` with each text in it such that UTF-8 can encode it."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {encodable(key): encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(encodable, value))
    return value
