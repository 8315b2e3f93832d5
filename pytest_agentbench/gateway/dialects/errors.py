"""What an error of a model call is about, which every dialect has its own words for."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any


class Kind(enum.Enum):
    """What clients tell apart: some they try again, some they shorten the conversation for."""

    CONTEXT = "context"
    QUOTA = "quota"
    RATE = "rate"
    AUTH = "auth"
    PERMISSION = "permission"
    MISSING = "missing"
    LARGE = "large"
    TIMEOUT = "timeout"
    OVERLOADED = "overloaded"
    INVALID = "invalid"
    SERVER = "server"


_CODES: Mapping[str, Kind] = {
    "context_length_exceeded": Kind.CONTEXT,
    "insufficient_quota": Kind.QUOTA,
    "rate_limit_exceeded": Kind.RATE,
    "invalid_api_key": Kind.AUTH,
    "model_not_found": Kind.MISSING,
    "overloaded": Kind.OVERLOADED,
}
_STATUSES: Mapping[int, Kind] = {
    401: Kind.AUTH,
    402: Kind.QUOTA,
    403: Kind.PERMISSION,
    404: Kind.MISSING,
    408: Kind.TIMEOUT,
    413: Kind.LARGE,
    429: Kind.RATE,
    503: Kind.OVERLOADED,
    504: Kind.TIMEOUT,
    529: Kind.OVERLOADED,
}
#: Of each kind, OpenAI's type and code.
_OPENAI: Mapping[Kind, tuple[str, str | None]] = {
    Kind.CONTEXT: ("invalid_request_error", "context_length_exceeded"),
    Kind.QUOTA: ("insufficient_quota", "insufficient_quota"),
    Kind.RATE: ("requests", "rate_limit_exceeded"),
    Kind.AUTH: ("invalid_request_error", "invalid_api_key"),
    Kind.PERMISSION: ("invalid_request_error", None),
    Kind.MISSING: ("invalid_request_error", "model_not_found"),
    Kind.LARGE: ("invalid_request_error", None),
    Kind.TIMEOUT: ("server_error", None),
    Kind.OVERLOADED: ("server_error", "server_is_overloaded"),
    Kind.INVALID: ("invalid_request_error", None),
    Kind.SERVER: ("server_error", None),
}


def kind_of(status: int, code: str = "") -> Kind:
    """The kind of an HTTP error: what ``code`` says, or else what ``status`` does.

    Codes are those of OpenAI for every dialect, and ``overloaded``.
    """
    default = Kind.INVALID if status < 500 else Kind.SERVER
    return _CODES.get(code) or _STATUSES.get(status, default)


def saying(phrase: str, message: str) -> str:
    """``message`` with ``phrase``, by which clients know the kind, unless it has it already."""
    return message if phrase.lower() in message.lower() else f"{phrase}: {message}"


def openai(status: int, message: str, code: str = "") -> dict[str, Any]:
    """What stands under ``error`` in an error of either of OpenAI's dialects."""
    kind = kind_of(status, code)
    type_, known = _OPENAI[kind]
    if kind is Kind.CONTEXT:
        message = saying("This model's maximum context length is exceeded", message)
    return {"message": message, "type": type_, "param": None, "code": known or code or None}
