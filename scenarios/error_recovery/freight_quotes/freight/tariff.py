"""The tariff: what zones and options cost."""

import configparser
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

DEFAULT = Path(__file__).resolve().parent.parent / "config" / "tariff.ini"


class TariffError(ValueError):
    """A tariff that cannot be read, or something that it does not know."""


@dataclass(frozen=True)
class Zone:
    base: Decimal
    per_kg: Decimal
    free_kg: Decimal


@dataclass(frozen=True)
class Tariff:
    revision: str
    fuel_percent: Decimal
    zones: dict
    options: dict

    def zone(self, name):
        try:
            return self.zones[name]
        except KeyError:
            raise TariffError(f"no zone {name!r}") from None


_cache = {}


def load_tariff(path=None):
    """The tariff in an INI file; reading it for every quote was too slow."""
    if "tariff" not in _cache:
        _cache["tariff"] = _read(path or DEFAULT)
    return _cache["tariff"]


def _read(path):
    parser = configparser.ConfigParser()
    try:
        with open(path, encoding="utf-8") as file:
            parser.read_file(file)
        head = parser["tariff"]
        zones = {
            name.removeprefix("zone "): _zone(parser[name])
            for name in parser.sections()
            if name.startswith("zone ")
        }
        options = {key: Decimal(value) for key, value in parser["options"].items()}
        return Tariff(head["revision"], Decimal(head["fuel_percent"]), zones, options)
    except (OSError, KeyError, configparser.Error, InvalidOperation) as error:
        raise TariffError(f"{path}: {error}") from error


def _zone(section):
    return Zone(*(Decimal(section[key]) for key in ("base", "per_kg", "free_kg")))
