"""The built-in runtimes by the name of their adapter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module

from pytest_agentbench.runtimes.protocol import Runtime
from pytest_agentbench.trial import RuntimeProfile

#: Makes the runtime of a profile; raises ``ProfileError`` for options that it does not understand.
Adapter = Callable[[RuntimeProfile], Runtime]


def _make(module: str, name: str, profile: RuntimeProfile) -> Runtime:
    # Imported when used: a worker would pay for all of them, and runs one or two.
    made: Runtime = getattr(import_module(f"{__package__}.{module}"), name)(profile)
    return made


ADAPTERS: Mapping[str, Adapter] = {
    "nop": partial(_make, "nop", "Nop"),
    "oracle": partial(_make, "oracle", "Oracle"),
    "command": partial(_make, "command", "CommandLine"),
    "minimal": partial(_make, "minimal", "Minimal"),
    "codex": partial(_make, "codex", "Codex"),
    "claude-code": partial(_make, "claude_code", "ClaudeCode"),
    "openclaw": partial(_make, "openclaw", "OpenClaw"),
    "nanobot": partial(_make, "nanobot", "Nanobot"),
    "mini-swe-agent": partial(_make, "mini_swe_agent", "MiniSweAgent"),
    "openhands": partial(_make, "openhands", "OpenHands"),
    "nanoclaw": partial(_make, "nanoclaw", "NanoClaw"),
    "ironclaw": partial(_make, "ironclaw", "IronClaw"),
    "opencode": partial(_make, "opencode", "OpenCode"),
    "gemini-cli": partial(_make, "gemini_cli", "GeminiCli"),
    "acp": partial(_make, "acp", "Acp"),
}
