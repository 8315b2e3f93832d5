"""Makes frozen dataclasses of the JSON that ``plain`` made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def decoded(kind: type[T], data: Mapping[str, Any]) -> T:
    """Fields that are missing have their defaults, unknown ones are left out, at every depth.

    Raises ``ValueError``, which names the place of what does not fit.
    """
    return msgspec.convert(data, kind)


def line_decoder(kind: type[T]) -> Callable[[bytes], T]:
    """What does for the bytes of one object what ``decoded`` does for it."""
    return msgspec.json.Decoder(kind).decode
