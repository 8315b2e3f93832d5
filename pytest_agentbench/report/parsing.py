"""Parses the JSON of large runs: with orjson where that is installed, else with Python's own parser."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

try:
    import orjson
except ImportError:  # the extra ``fast``
    _quick: Callable[[bytes], Any] = json.loads
else:
    _quick = orjson.loads


def parsed(line: bytes) -> Any:
    """What ``json.loads`` gives for bytes. Raises ``ValueError`` and ``RecursionError``.

    What orjson refuses and Python takes (halves of surrogate pairs, NaN, very deep nesting) is left to
    Python, so that both read the same.
    """
    try:
        return _quick(line)
    except ValueError:
        # Half of the cost beside the parser's is to find out which encoding bytes have.
        text = line.decode("utf-8", "surrogatepass") if line[:1] == b"{" else line
        return json.loads(text)
