"""Text of hostile origin made safe to print."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escape(text: str, limit: int = 300) -> str:
    r"""One line: control characters, direction overrides and lone surrogates as ``\x..``.

    Text beyond ``limit`` characters is cut and marked with an ellipsis.
    """
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", cut)
