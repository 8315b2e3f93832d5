"""Whether a model declined, in whatever dialect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: Why an answer ended, where the model or its provider would not go on.
_REASONS = frozenset(
    (
        *("refusal", "content_filter"),
        *("SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"),
    )
)


def refused(data: Mapping[str, Any]) -> bool:
    """Whether a whole answer, or an event of a streamed one, says so.

    Some runtimes leave a refusal out of their transcripts, so only the gateway can tell.
    """
    if data.get("type") == "response.refusal.done":
        return True
    feedback = data.get("promptFeedback")
    if isinstance(feedback, Mapping) and feedback.get("blockReason"):
        return True
    return any(
        part.get("refusal")
        or part.get("type") == "refusal"
        or not _REASONS.isdisjoint(
            reason
            for key in ("finish_reason", "finishReason", "stop_reason")
            if isinstance(reason := part.get(key), str)
        )
        for part in _parts(data)
    )


def _parts(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The objects that may say it: the answer, its choices, their messages, the parts of those."""
    yield data
    for key in ("choices", "candidates", "output", "message", "delta", "content"):
        value = data.get(key)
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, Mapping):
                yield from _parts(each)
