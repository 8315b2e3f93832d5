"""``[tool.agentbench]``: what a project's ``pyproject.toml`` says."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench import jury, place
from pytest_agentbench.options import Said, SettingsError, refuse_unknown
from pytest_agentbench.rules import Rules, rules_of

#: Keys of ``[tool.agentbench.defaults]``, and of ``[tool.agentbench]`` itself.
DEFAULT_KEYS = (
    "runtime",
    "model",
    "mode",
    "trials",
    "sandbox",
    "gate",
    "timeout_multiplier",
    "timeout_floor",
    "max_attempts",
    "checker_seconds",
    "claim_seconds",
    "keep_workspace",
    "view",
    "exposure",
    "progress",
    "scoring",
    "skill_mutation",
    "skill_check",
    "skill_library",
    "profile",
    "selector",
    *jury.KEYS,
)
TABLE_KEYS = ("defaults", "runtimes", "models", "prices", "budget", "gate", "profiles")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """``[tool.agentbench]`` of a ``pyproject.toml``."""

    path: Path | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    runtimes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)
    gate: Mapping[str, Any] = field(default_factory=dict)
    profiles: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder that paths in the table are relative to, and in which runs are kept."""
        return self.path.parent if self.path else Path.cwd()

    def where(self, name: str) -> str:
        """The table ``[tool.agentbench.NAME]``, with its file, for messages."""
        table = f"[tool.agentbench.{name}]"
        return f"{self.path.name}: {table}" if self.path else table

    @property
    def told(self) -> str:
        """Where profiles were looked for, for messages about one that is not there."""
        if self.path is None:
            return "no pyproject.toml with [tool.agentbench] was found"
        return f"read: {place.told(self.path)}"

    def said(self, asked: Mapping[str, Any]) -> Said:
        """``asked`` on the command line, over the defaults."""
        return Said(asked=asked, defaults=self.defaults, place=self.where("defaults"))

    @property
    def rules(self) -> Rules:
        return rules_of(self.gate, where=self.where("gate"))

    @classmethod
    def nearest(cls, folder: Path) -> Table:
        """The table of the nearest ``pyproject.toml`` that has it, in ``folder`` or above it.

        Empty if there is none. Raises ``SettingsError``.
        """
        for parent in (folder, *folder.parents):
            path = parent / "pyproject.toml"
            with contextlib.suppress(OSError):
                if b"[tool.agentbench" in path.read_bytes():
                    return cls.read(path)
        return cls()

    @classmethod
    def read(cls, path: Path) -> Table:
        """Read the table of the file ``path``; raises ``SettingsError``."""
        import tomllib

        try:
            tool = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path.name}: not valid TOML: {error}") from error
        table = tool.get("agentbench", {})
        where = f"{path.name}: [tool.agentbench]"
        if not isinstance(table, dict):
            raise SettingsError(f"{where} must be a table, not {type(table).__name__}")
        refuse_unknown(table, TABLE_KEYS, where)
        for key in TABLE_KEYS:
            if not isinstance(table.get(key, {}), dict):
                raise SettingsError(f"{where}: {key} must be a table")
        defaults = table.get("defaults", {})
        refuse_unknown(defaults, DEFAULT_KEYS, f"{path.name}: [tool.agentbench.defaults]")
        for kind, needed in (("runtimes", "adapter"), ("models", "backend")):
            for name, entry in table.get(kind, {}).items():
                if not isinstance(entry, dict) or not isinstance(entry.get(needed), str):
                    raise SettingsError(
                        f'{path.name}: [tool.agentbench.{kind}.{name}] needs {needed} = "NAME"'
                    )
        return cls(
            path=path,
            defaults=defaults,
            runtimes=table.get("runtimes", {}),
            models=table.get("models", {}),
            prices=table.get("prices", {}),
            budget=table.get("budget", {}),
            gate=table.get("gate", {}),
            profiles=table.get("profiles", {}),
        )
