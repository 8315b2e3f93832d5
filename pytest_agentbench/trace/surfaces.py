"""The surface of each runtime by its name: the one registry of native tools."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from pytest_agentbench.trace.surface import Surface

#: Runtime to ``module:NAME`` of its surface, a module of this package.
SURFACES: Mapping[str, str] = {
    "claude-code": "claude_code:SURFACE",
    "codex": "codex:SURFACE",
    "mini-swe-agent": "mini_swe_agent:SURFACE",
    "nanobot": "nanobot:SURFACE",
    "nanoclaw": "nanoclaw:SURFACE",
    "openclaw": "openclaw:SURFACE",
    "openhands": "openhands:SURFACE",
    "opencode": "opencode:SURFACE",
    "gemini-cli": "gemini_cli:SURFACE",
    "acp": "acp:SURFACE",
}


def surface(runtime: str) -> Surface:
    """The surface of a runtime. Raises ``KeyError`` for one that has none."""
    # Imported when used: a worker runs one or two runtimes, and would pay for all.
    module, _, name = SURFACES[runtime].partition(":")
    found: Surface = getattr(import_module(f"{__package__}.{module}"), name)
    return found
