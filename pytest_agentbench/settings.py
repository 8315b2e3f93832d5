"""What a run was asked to do: command line, then ``[tool.agentbench]``, then defaults."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.asked import Asked
from pytest_agentbench.options import (
    SettingsError,
    names,
    one_of,
    positive,
    refuse_unknown,
    unknown,
    whole,
)
from pytest_agentbench.pricing import PricingError, budgets_of, price_of
from pytest_agentbench.rules import WHERE, Gate, Rules, gate, rules_of
from pytest_agentbench.shard import Shard, shard
from pytest_agentbench.spending import Budgets
from pytest_agentbench.trial import ModelProfile, RuntimeProfile, Tape
from pytest_agentbench.views import EXPOSURES, VIEWS

#: Whose workspaces are kept.
KEEP = ("none", "failed", "all")
PROGRESS = ("auto", "live", "plain", "off")
SCORINGS = ("default", "published")
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
    "profile",
    "selector",
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
    def rules(self) -> Rules:
        return rules_of(self.gate, where=f"{self.path.name}: {WHERE}" if self.path else WHERE)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The matrix of a run and its limits, final before anything is collected."""

    #: Each runtime with each model that it is run with; None for no model of its own choice.
    pairs: tuple[tuple[RuntimeProfile, ModelProfile | None], ...] = ()
    modes: tuple[str, ...] = ("baseline",)
    trials: int = 1
    sandbox: str = "auto"
    gate: Gate = field(default_factory=Gate)
    timeout_multiplier: float = 1.0
    #: The least seconds of any time limit; 0 for those that the scenarios have.
    timeout_floor: float = 0.0
    max_attempts: int = 2
    #: Seconds that one Python checker may take.
    checker_seconds: float = 60.0
    keep_workspace: str = "none"
    budgets: Budgets = field(default_factory=Budgets)
    dry_run: bool = False
    #: What is run although it has a score: ``infra``, ``failed``, and the beginnings of keys.
    rerun: tuple[str, ...] = ()
    accept_changes: bool = False
    #: The primary view, "" where nobody declared one.
    view: str = ""
    #: One of ``EXPOSURES``, "" where nobody declared one.
    exposure: str = ""
    progress: str = "auto"
    #: ``published`` for the formulas of the published harnesses, defects and all.
    scoring: str = "default"
    #: A profile by name, and the tags of its scenarios; a file with a frozen selector.
    profile: str = ""
    selector: str = ""
    shard: Shard | None = None
    #: Seconds without a sign of life after which others take an invocation's trials; None alone.
    claim: float | None = None

    @property
    def runtimes(self) -> tuple[RuntimeProfile, ...]:
        return tuple({profile.name: profile for profile, _ in self.pairs}.values())

    @property
    def models(self) -> tuple[ModelProfile, ...]:
        return tuple({model.name: model for _, model in self.pairs if model}.values())


def resolve(
    asked: Asked, table: Table, *, adapters: Iterable[str], modes: Iterable[str]
) -> Settings:
    """Put command line, table and defaults together; raises ``SettingsError``.

    ``adapters`` and ``modes`` are the names that exist, built in or from third parties.
    """
    said: dict[str, Any] = {**table.defaults}
    for key in DEFAULT_KEYS:
        value = getattr(asked, key, None)
        if value not in (None, (), []):
            said[key] = value
    mode_names = names(said.get("mode", ["baseline"]), "mode")
    known_modes = sorted(modes)
    for mode in mode_names:
        if mode not in known_modes:
            raise SettingsError(unknown("--mode", mode, known_modes))
    claim_seconds = positive(said.get("claim_seconds", 60.0), "claim_seconds")
    models = names(said.get("model", []), "model")
    known_adapters = sorted(adapters)
    tape = _tape(asked)
    pairs: list[tuple[RuntimeProfile, ModelProfile | None]] = []
    for name in names(said.get("runtime", []), "runtime"):
        profile = runtime_profile(name, table, known_adapters)
        own = (profile.model,) if profile.model else ()
        pairs.extend((profile, model_profile(model, table, tape)) for model in models or own)
        if not models and not own:
            pairs.append((profile, None))
    if tape and not any(model for _, model in pairs):
        option = "--replay" if tape.replays else "--record"
        raise SettingsError(f"{option} is about model calls, and there is no --model")
    return Settings(
        pairs=tuple(pairs),
        modes=mode_names,
        trials=whole(said.get("trials", 1), "--trials", 1, 10_000),
        sandbox=str(said.get("sandbox", "auto")),
        gate=gate(asked.gate, said.get("gate"), table.gate, table.rules, table.path),
        timeout_multiplier=positive(said.get("timeout_multiplier", 1.0), "--timeout-multiplier"),
        timeout_floor=positive(floor, "--timeout-floor")
        if (floor := said.get("timeout_floor"))
        else 0.0,
        max_attempts=whole(said.get("max_attempts", 2), "max_attempts", 1, 20),
        checker_seconds=positive(said.get("checker_seconds", 60.0), "checker_seconds"),
        keep_workspace=one_of(said.get("keep_workspace", "none"), "--keep-workspace", KEEP),
        budgets=_budgets(table, (model for _, model in pairs)),
        dry_run=asked.dry_run,
        rerun=names(list(asked.rerun), "rerun"),
        accept_changes=asked.accept_changes,
        view=one_of(said.get("view", ""), "--view", VIEWS),
        exposure=one_of(said.get("exposure", ""), "--exposure", EXPOSURES),
        progress=one_of(said.get("progress", "auto"), "--progress", PROGRESS),
        profile=str(said.get("profile", "")),
        selector=str(said.get("selector", "")),
        scoring=one_of(said.get("scoring", "default"), "--scoring", SCORINGS),
        shard=shard(asked.shard) if asked.shard is not None else None,
        claim=claim_seconds if asked.claim else None,
    )


def runtime_profile(
    name: str, table: Table, adapters: Sequence[str], *, where: str = "--runtime"
) -> RuntimeProfile:
    """What ``--runtime=name`` means: a profile, an adapter, or ``adapter@version``.

    ``where`` the name was given is told when it is none of them. Raises ``SettingsError``.
    """
    if name in table.runtimes:
        entry = dict(table.runtimes[name])
        adapter = entry.pop("adapter")
        table_name = f"[tool.agentbench.runtimes.{name}]"
        if adapter not in adapters:
            raise SettingsError(unknown(f"{table_name}: adapter", adapter, adapters))
        most = entry.pop("max_concurrent", None)
        if most is not None:
            most = whole(most, f"{table_name}: max_concurrent", 1, 10_000)
        return RuntimeProfile(
            name=name,
            adapter=adapter,
            version=str(entry.pop("version", "")),
            model=entry.pop("model", None),
            max_concurrent=most,
            conformance=str(entry.pop("conformance", "")),
            options=entry,
        )
    adapter, _, version = name.partition("@")
    if adapter not in adapters:
        raise SettingsError(unknown(where, name, [*adapters, *table.runtimes]))
    return RuntimeProfile(name=name, adapter=adapter, version=version)


def model_profile(name: str, table: Table, tape: Tape | None = None) -> ModelProfile:
    """What ``--model=name`` means: a profile, ``scripted``, or a provider's name for a model."""
    entry = dict(table.models.get(name, {}))
    backend = entry.pop("backend", "scripted" if name == "scripted" else "upstream")
    try:
        # The provider's name of the model first: profiles are named by whoever writes them.
        price = price_of((str(entry.get("model", name)), name), table.prices)
    except PricingError as error:
        raise SettingsError(str(error)) from None
    return ModelProfile(name=name, backend=backend, options=entry, tape=tape, price=price)


def _budgets(table: Table, models: Iterable[ModelProfile | None]) -> Budgets:
    try:
        budgets = budgets_of(table.budget)
    except PricingError as error:
        raise SettingsError(str(error)) from None
    dollars = budgets.trial.usd is not None or budgets.run.usd is not None
    for model in models:
        if dollars and model and model.price is None:
            raise SettingsError(
                f"[tool.agentbench.budget]: usd needs to know what {model.name} costs; write "
                f'[tool.agentbench.prices."{model.name}"] with as_of, input and output'
            )
    return budgets


def _tape(asked: Asked) -> Tape | None:
    if asked.record and asked.replay:
        raise SettingsError("--record and --replay exclude each other")
    if asked.replay:
        folder = Path(asked.replay).absolute()
        if not any(folder.glob("*/*.jsonl")):
            raise SettingsError(
                f"--replay: {asked.replay!r} holds no recording; make one with "
                f"--record={asked.replay}"
            )
        return Tape(folder=folder, replays=True)
    if not asked.record:
        return None
    folder = Path(asked.record).absolute()
    there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise SettingsError(f"--record: {there.name!r} is no folder that can be written to")
    return Tape(folder=folder)
