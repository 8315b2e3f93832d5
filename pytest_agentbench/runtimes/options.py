"""Options of a runtime's profile that several adapters have. All raise ``ProfileError``."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_agentbench.trial import RuntimeProfile

#: Tokens, where a profile does not say.
CONTEXT_WINDOW = 200_000


def text(profile: RuntimeProfile, name: str) -> str:
    value = profile.options.get(name, "")
    if not isinstance(value, str):
        raise profile.refuse(f"{name} must be a text, not {value!r}")
    return value


def texts(profile: RuntimeProfile, name: str) -> tuple[str, ...]:
    value = profile.options.get(name, [])
    if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
        raise profile.refuse(f"{name} must be a list of texts, not {value!r}")
    return tuple(value)


def table(profile: RuntimeProfile, name: str) -> Mapping[str, str]:
    value = profile.options.get(name, {})
    if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
        raise profile.refuse(f"{name} must be a table of texts, not {value!r}")
    return value


def context_window(profile: RuntimeProfile) -> int:
    """The option ``context_window``, in tokens."""
    window = profile.options.get("context_window", CONTEXT_WINDOW)
    if type(window) is not int or window < 1:
        raise profile.refuse(f"context_window must be a whole number above 0, not {window!r}")
    return window
