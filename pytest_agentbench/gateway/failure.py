"""What a provider's answer says of its failing, in whatever dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: HTTP statuses of what is said only in an event of a stream that began well.
_STATUSES: Mapping[str, int] = {
    "authentication_error": 401,
    "billing_error": 402,
    "context_length_exceeded": 400,
    "insufficient_quota": 429,
    "invalid_api_key": 401,
    "invalid_prompt": 400,
    "invalid_request_error": 400,
    "model_not_found": 404,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "request_too_large": 413,
    "requests": 429,
    "server_is_overloaded": 503,
    "timeout_error": 504,
    "tokens": 429,
}
#: Characters of a body that is no JSON of an error.
_SHOWN = 300


def words(body: bytes | bytearray) -> tuple[str, str]:
    """Message and code in the body of an error; of a body that is no such JSON, its beginning."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    # Some servers put the error into a list.
    data = data[0] if isinstance(data, list) and data else data
    said = _error(data) if isinstance(data, Mapping) else None
    if said is None:
        text = body[: 4 * _SHOWN].decode("utf-8", "replace")
        return " ".join(text.split())[:_SHOWN] or "without a word", ""
    return said


def found(data: Mapping[str, Any]) -> tuple[int, str, str] | None:
    """Status, message and code of the error that an answer of status 200, or an event, holds."""
    inner = data.get("response")
    place = inner if isinstance(inner, Mapping) else data
    if place.get("error") or data.get("type") == "error":
        message, code = _error(place) or ("without a word", "")
        number = place.get("error")
        number = number.get("code") if isinstance(number, Mapping) else None
        known = number if type(number) is int and 400 <= number < 600 else 500
        return _STATUSES.get(code, known), message, code
    if place.get("status") == "failed":
        return 500, "it failed without a word", ""
    return None


def finished(event: Mapping[str, Any]) -> bool:
    """Whether an event of a stream says that the answer is whole."""
    if event.get("type") in ("message_stop", "response.completed", "response.incomplete"):
        return True
    for key, reason in (("choices", "finish_reason"), ("candidates", "finishReason")):
        rows = event.get(key)
        if isinstance(rows, list):
            return any(isinstance(row, Mapping) and row.get(reason) for row in rows)
    # A prompt that Gemini blocks has no candidates.
    return "promptFeedback" in event


def _error(data: Mapping[str, Any]) -> tuple[str, str] | None:
    """Message and code of an object with an error in it, or that is one."""
    said = data.get("error", data)
    if isinstance(said, str):
        return said, str(data.get("code") or "")
    if not isinstance(said, Mapping) or not isinstance(said.get("message"), str):
        return None
    codes = (said.get("code"), said.get("status"), said.get("type"))
    return said["message"], next((code for code in codes if code and isinstance(code, str)), "")
