"""Prices and budgets of ``[tool.agentbench]``, and the prices that come with the package."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_agentbench.spending import BUDGET_KEYS, PRICE_KEYS, Budget, Budgets, Price

_OWN = Path(__file__).with_name("prices.toml")
_NEEDED = ("as_of", "input", "output")


class PricingError(Exception):
    """A price or a budget that makes no sense; the message says where it stands, and why."""


def price_of(names: tuple[str, ...], own: Mapping[str, Any]) -> Price | None:
    """The price of the model with one of these names; what a user wrote comes first."""
    for name in names:
        if name in own:
            return _price(name, own[name])
    import tomllib

    shipped = tomllib.loads(_OWN.read_text("utf-8"))
    found = next((shipped[name] for name in names if name in shipped), None)
    return Price(**found) if found else None


def example(name: str) -> str:
    """What a user's price of the model looks like."""
    return (
        "for example:\n"
        f'    [tool.agentbench.prices."{name}"]\n'
        '    as_of = "2026-01-31"\n'
        "    input = 2.5    # US dollars for a million tokens\n"
        "    output = 10.0"
    )


def budgets_of(table: Mapping[str, Any]) -> Budgets:
    """The budgets of ``[tool.agentbench.budget.trial]`` and ``.run``. Raises ``PricingError``."""
    for key in table:
        if key not in ("trial", "run"):
            raise PricingError(
                f"[tool.agentbench.budget]: {key!r} is not known; allowed: trial, run"
            )
    return Budgets(trial=_budget("trial", table), run=_budget("run", table))


def _price(name: str, entry: Any) -> Price:
    where = f'[tool.agentbench.prices."{name}"]'
    if not isinstance(entry, Mapping):
        raise PricingError(f"{where} must be a table with {', '.join(PRICE_KEYS)}")
    for key in entry:
        if key not in PRICE_KEYS:
            raise PricingError(f"{where}: {key!r} is not known; allowed: {', '.join(PRICE_KEYS)}")
    for key in _NEEDED:
        if key not in entry:
            raise PricingError(f"{where} needs {key}; write {example(name)}")
    day = str(entry["as_of"])
    try:
        datetime.date.fromisoformat(day)
    except ValueError:
        raise PricingError(
            f"{where}: as_of must be a day such as 2026-01-31, not {day!r}"
        ) from None
    for key in PRICE_KEYS[1:]:
        if key in entry and not _sane(entry[key]):
            raise PricingError(
                f"{where}: {key} must be US dollars for a million tokens, not {entry[key]!r}"
            )
    return Price(**{**entry, "as_of": day})


def _budget(name: str, table: Mapping[str, Any]) -> Budget:
    where, entry = f"[tool.agentbench.budget.{name}]", table.get(name, {})
    if not isinstance(entry, Mapping):
        raise PricingError(f"{where} must be a table with {', '.join(BUDGET_KEYS)}")
    for key, value in entry.items():
        if key not in BUDGET_KEYS:
            raise PricingError(f"{where}: {key!r} is not known; allowed: {', '.join(BUDGET_KEYS)}")
        whole = key == "usd" or type(value) is int
        if not _sane(value) or not whole or value <= 0:
            kind = "a number" if key == "usd" else "a whole number"
            raise PricingError(f"{where}: {key} must be {kind} above 0, not {value!r}")
    return Budget(**entry)


def _sane(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value >= 0
