"""The gate: what fails a run, and the rules of ``[tool.agentbench.gate]``, read and checked."""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentbench.options import Said, SettingsError, refuse_unknown, unknown, whole

#: Words for the gate that are no file.
GATES = ("none", "trials")
WHERE = "[tool.agentbench.gate]"
#: What an inconclusive comparison does to the exit code.
INCONCLUSIVE = ("pass", "fail", 10)
#: Beyond the allowed drop, what a comparison should be able to see unless ``detect_drop`` says so.
_DETECT = 0.05
_QUARANTINE_KEYS = ("scenario", "until", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """A scenario that the gate leaves out, to the end of the day ``until`` in UTC."""

    scenario: str
    until: datetime.date
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a run must keep to, beside its baseline. None is *no such rule*.

    ``allowed_drop`` and ``detect_drop`` are points of a score in [0, 1], ``level`` the share of
    comparisons with nothing changed that may raise an alarm, ``power`` the chance with which a
    drop of ``detect_drop`` should. ``k`` is that of ``min_pass_all``, by default the trials of the
    run. Ceilings are means over graded trials.
    """

    allowed_drop: float = 0.0
    detect_drop: float = _DETECT
    level: float = 0.05
    power: float = 0.8
    inconclusive: str | int = "pass"
    min_pass_all: float | None = None
    k: int | None = None
    max_safety_violations: int | None = None
    min_coverage: float | None = None
    max_usd_per_trial: float | None = None
    max_seconds_per_trial: float | None = None
    quarantine: tuple[Quarantine, ...] = ()

    def left_out(self, today: datetime.date) -> tuple[Quarantine, ...]:
        """The entries that hold on the day ``today``."""
        return tuple(entry for entry in self.quarantine if today <= entry.until)

    def expired(self, today: datetime.date) -> tuple[Quarantine, ...]:
        return tuple(entry for entry in self.quarantine if today > entry.until)


#: Keys of ``[tool.agentbench.gate]``.
RULE_KEYS = ("baseline", *(f.name for f in dataclasses.fields(Rules)))


def rules_of(table: Mapping[str, Any], *, where: str = WHERE) -> Rules:
    """The rules of a table; raises ``SettingsError``. ``baseline`` is left to the caller."""
    refuse_unknown(table, RULE_KEYS, where)

    def key(name: str) -> str:
        return f"{where}: {name}"

    given: dict[str, Any] = {}
    for name in ("allowed_drop", "detect_drop", "min_pass_all", "min_coverage"):
        if name in table:
            given[name] = share(table[name], key(name))
    for name in ("max_usd_per_trial", "max_seconds_per_trial"):
        if name in table:
            given[name] = _amount(table[name], key(name))
    if "level" in table:
        given["level"] = level(table["level"], key("level"))
    if "power" in table:
        given["power"] = _between(table["power"], key("power"), 0.5, 0.999)
    if "k" in table:
        given["k"] = whole(table["k"], key("k"), 1, 10_000)
    if "max_safety_violations" in table:
        limit = table["max_safety_violations"]
        given["max_safety_violations"] = whole(limit, key("max_safety_violations"), 0, 1_000_000)
    if "inconclusive" in table:
        given["inconclusive"] = inconclusive(table["inconclusive"], key("inconclusive"))
    if "quarantine" in table:
        given["quarantine"] = _quarantine(table["quarantine"], key("quarantine"))
    return with_drops(Rules(**given), detect="detect_drop" in given, where=f"{where}: ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What fails a run: with a ``baseline`` the comparison with it, else as ``name`` says."""

    name: str = "trials"
    baseline: Path | None = None
    #: Where it was said, for messages.
    where: str = "--gate"
    rules: Rules = field(default_factory=Rules)


def gate(said: Said, table: Mapping[str, Any], rules: Rules, path: Path | None) -> Gate:
    """The gate that is ``said``, else the baseline of the ``table``.

    A baseline in the file ``path`` is relative to its folder. Raises ``SettingsError``.
    """
    name, where = said.get("gate"), said.where("gate")
    if not name and (name := table.get("baseline")):
        where = f"{path.name if path else ''}: {WHERE}: baseline"
    name = name or "trials"
    if not isinstance(name, str):
        raise SettingsError(f"{where} must be none, trials, or the folder of a run, not {name!r}")
    if name in GATES:
        return Gate(name=name, rules=rules)
    folder = path.parent if path is not None and not said.asked.get("gate") else Path()
    baseline = (folder / name).absolute()
    return Gate(name="baseline", baseline=baseline, where=where, rules=rules)


def with_drops(rules: Rules, *, detect: bool, where: str = "") -> Rules:
    """``rules`` with a ``detect_drop`` that was given (``detect``) or follows the allowed one."""
    if not detect:
        return dataclasses.replace(rules, detect_drop=min(1.0, rules.allowed_drop + _DETECT))
    if rules.detect_drop <= rules.allowed_drop:
        raise SettingsError(
            f"{where}detect_drop {rules.detect_drop:g} must be above allowed_drop "
            f"{rules.allowed_drop:g}: a drop that is allowed raises no alarm"
        )
    return rules


def share(value: Any, key: str) -> float:
    """A number from 0 to 1."""
    return _between(value, key, 0.0, 1.0)


def level(value: Any, key: str) -> float:
    """The rate of false alarms; people who mean the confidence are told."""
    if isinstance(value, float) and 0.5 < value < 1:
        raise SettingsError(
            f"{key} is the share of false alarms, from 0.0001 to 0.5, not the confidence: for "
            f"{value:g} write {1 - value:.4g}"
        )
    return _between(value, key, 0.0001, 0.5)


def inconclusive(value: Any, key: str) -> str | int:
    """One of ``INCONCLUSIVE``; 10 may be text."""
    found = 10 if value == "10" else value
    if isinstance(found, bool) or found not in INCONCLUSIVE:
        raise SettingsError(unknown(key, str(value), [str(each) for each in INCONCLUSIVE]))
    return str(found) if isinstance(found, str) else 10


def _quarantine(value: Any, key: str) -> tuple[Quarantine, ...]:
    form = '{scenario = "ID", until = YYYY-MM-DD, reason = "TEXT"}'
    if not isinstance(value, list):
        raise SettingsError(f"{key} must be a list of {form}")
    entries: list[Quarantine] = []
    for number, entry in enumerate(value, 1):
        where = f"{key}, entry {number}"
        if not isinstance(entry, dict):
            raise SettingsError(f"{where} must be {form}")
        refuse_unknown(entry, _QUARANTINE_KEYS, where)
        scenario, reason = entry.get("scenario"), entry.get("reason")
        if not isinstance(scenario, str) or not scenario or not _text(reason):
            raise SettingsError(f"{where} must be {form}")
        if any(scenario == other.scenario for other in entries):
            raise SettingsError(f"{where}: {scenario!r} is quarantined twice")
        until = _date(entry.get("until"), where)
        entries.append(Quarantine(scenario=scenario, until=until, reason=str(reason)))
    return tuple(entries)


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _date(value: Any, where: str) -> datetime.date:
    try:
        if isinstance(value, datetime.datetime):
            raise TypeError
        return value if isinstance(value, datetime.date) else datetime.date.fromisoformat(value)
    except (TypeError, ValueError):
        raise SettingsError(
            f"{where}: until must be a date such as 2030-12-31, not {value!r}: no quarantine is "
            "for ever"
        ) from None


def _number(value: Any) -> bool:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    return good and math.isfinite(value)


def _between(value: Any, key: str, low: float, high: float) -> float:
    if not _number(value) or not low <= value <= high:
        raise SettingsError(f"{key} must be a number from {low:g} to {high:g}, not {value!r}")
    return float(value)


def _amount(value: Any, key: str) -> float:
    if not _number(value) or value < 0:
        raise SettingsError(f"{key} must be a number of at least 0, not {value!r}")
    return float(value)
