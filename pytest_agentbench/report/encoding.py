"""Writes JSON as files of a run have it: always the same bytes, and ASCII alone."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from typing import Any

from pytest_agentbench.plain import plain

# ``json.dumps`` makes one for each call.
_PLAIN = json.JSONEncoder(sort_keys=True, allow_nan=False, separators=(",", ":"))
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")


def compact(value: Any) -> bytes:
    """JSON with sorted keys and no spaces, also of dataclasses.

    Infinity and what is no number become null. Raises ``ValueError`` for them beside halves of
    surrogate pairs, and ``TypeError`` for what JSON cannot have.
    """
    try:
        text = _encoder()(value)
    except UnicodeEncodeError:  # halves of surrogate pairs
        return _PLAIN.encode(plain(value)).encode()
    return text if text.isascii() else _BEYOND_ASCII.sub(_escaped, text.decode()).encode()


@functools.cache
def _encoder() -> Callable[[Any], bytes]:
    import msgspec  # not of every session

    return msgspec.json.Encoder(order="sorted").encode


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
