"""Writes the rows of large reports: with orjson where that is installed, with the same bytes as without."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

try:
    import orjson
except ImportError:  # the extra ``fast``
    _quick: Callable[[Any], bytes] | None = None
else:

    def _quick(value: Any) -> bytes:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


# ``json.dumps`` makes one for each call.
_ENCODER = json.JSONEncoder(sort_keys=True, allow_nan=False, separators=(",", ":"))
#: A number with an exponent, which the two spell in ways of their own.
_EXPONENT = re.compile(rb"[0-9]e[+-]?[0-9]+[,\]}]")


def compact(value: Any) -> bytes:
    """ASCII JSON with sorted keys and no spaces.

    Raises ``ValueError`` for infinity and what is no number, unless orjson takes them for null.
    """
    if _quick is not None:
        try:
            text = _quick(value)
        except (TypeError, ValueError):  # large integers, halves of surrogate pairs
            return plainly(value)
        if text.isascii() and not _EXPONENT.search(text):
            return text
    return plainly(value)


def plainly(value: Any) -> bytes:
    """The same by Python's own encoder."""
    return _ENCODER.encode(value).encode()
