"""Parses the JSON of large runs."""

from __future__ import annotations

import json
from typing import Any

import msgspec


def parsed(line: bytes) -> Any:
    """What ``json.loads`` gives for bytes. Raises ``ValueError`` and ``RecursionError``.

    What msgspec refuses and Python takes (halves of surrogate pairs, NaN) is left to Python.
    """
    try:
        return msgspec.json.decode(line)
    except ValueError:
        # Half of the cost beside the parser's is to find out which encoding bytes have.
        text = line.decode("utf-8", "surrogatepass") if line[:1] == b"{" else line
        return json.loads(text)
