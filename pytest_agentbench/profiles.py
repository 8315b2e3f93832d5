"""Profiles by the names that people give: of runtimes, of models, of what they may cost."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from pytest_agentbench.asked import Asked
from pytest_agentbench.options import SettingsError, unknown, whole
from pytest_agentbench.pricing import PricingError, budgets_of, example, price_of
from pytest_agentbench.spending import Budgets
from pytest_agentbench.tool_table import Table
from pytest_agentbench.trial import ModelProfile, RuntimeProfile, Tape

#: The model, and the backend, that needs no table.
SCRIPTED = "scripted"


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
        known = [*adapters, *table.runtimes]
        raise SettingsError(f"{unknown(where, name, known)}; {table.told}")
    return RuntimeProfile(name=name, adapter=adapter, version=version)


def model_profile(
    name: str, table: Table, tape: Tape | None = None, *, where: str = "--model"
) -> ModelProfile:
    """What ``--model=name`` means: a profile, or ``scripted``.

    ``where`` the name was given is told when it is neither. Raises ``SettingsError``.
    """
    known = dict.fromkeys((SCRIPTED, *table.models))
    if name not in known:
        raise SettingsError(f"{unknown(where, name, tuple(known))}; {table.told}{_example(name)}")
    entry = dict(table.models.get(name, {}))
    backend = entry.pop("backend", SCRIPTED)
    try:
        # The provider's name of the model first: profiles are named by whoever writes them.
        price = price_of((str(entry.get("model", name)), name), table.prices)
    except PricingError as error:
        raise SettingsError(f"{_file(table)}{error}") from None
    return ModelProfile(name=name, backend=backend, options=entry, tape=tape, price=price)


def _file(table: Table) -> str:
    return f"{table.path.name}: " if table.path else ""


def _example(name: str) -> str:
    bare = name if re.fullmatch(r"[\w-]+", name, re.ASCII) else f'"{name}"'
    return (
        ". A provider's model needs a table, for example:\n"
        f"    [tool.agentbench.models.{bare}]\n"
        '    backend = "upstream"\n'
        '    provider = "openai"'
    )


def budgets(
    table: Table, models: Sequence[ModelProfile | None], judges: Sequence[ModelProfile]
) -> Budgets:
    """The budgets of a run. Raises ``SettingsError`` where dollars are told and a price is not."""
    try:
        found = budgets_of(table.budget)
    except PricingError as error:
        raise SettingsError(f"{_file(table)}{error}") from None
    spenders = ((found.trial, models), (found.run, [*models, *judges]))
    for model in (each for budget, all_ in spenders if budget.usd is not None for each in all_):
        if model and model.price is None:
            raise SettingsError(
                f"{table.where('budget')}: usd needs to know what {model.name} costs; write "
                f"{example(model.name)}"
            )
    return found


def tape_of(asked: Asked) -> Tape | None:
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
