"""Text comparison of the published check types (ClawProBench): case-blind substrings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def contains(value: object, pattern: object) -> bool:
    return plain(pattern) in plain(value)


def plain(value: object) -> str:
    """Lower-case text; lists and mappings as JSON, anything else through ``str``."""
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str).lower()
    return str(value).lower()


def patterns(params: Mapping[str, Any]) -> list[Any]:
    """``pattern`` (one or a list) if given, else the list ``patterns``."""
    given = params.get("pattern")
    if given is None:
        given = params.get("patterns") or []
    return list(given) if isinstance(given, list | tuple) else [given]


def lookup(value: Any, path: str) -> Any:
    """The value at a dotted path, where digits index lists; None when there is none."""
    for key in path.split(".") if path else ():
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, Sequence) and not isinstance(value, str) and key.isdecimal():
            value = value[int(key)] if int(key) < len(value) else None
        else:
            return None
    return value
