"""Values as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LEAVES = (str, int, float, type(None))


def plain(value: Any) -> Any:
    """``value`` as JSON has it: dataclasses and mappings with text keys, sequences as lists.

    What is none of these stays as it is. ``dataclasses.asdict`` gives nearly the same, but copies
    every leaf, which took a third of the harness's time for a trial.
    """
    if isinstance(value, _LEAVES):
        return value
    if (fields := getattr(value, "__dataclass_fields__", None)) is not None:
        return {name: plain(getattr(value, name)) for name in fields}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value
