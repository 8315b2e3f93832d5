"""What a parcel costs."""

from dataclasses import dataclass
from decimal import Decimal

from freight.tariff import TariffError, load_tariff
from freight.weight import billable_kg


@dataclass(frozen=True)
class Quote:
    zone: str
    billable_kg: Decimal
    lines: tuple
    total_cents: int


def cents(euros):
    return int(round(euros * 100))


def percent(amount_cents, rate):
    return int(round(amount_cents * rate / 100))


def quote(zone, weight_kg, size_cm, options=()):
    """The quote for one parcel; options are names such as ``express``."""
    tariff = load_tariff()
    prices = tariff.zone(zone)
    weight = billable_kg(weight_kg, size_cm)
    lines = [("base", cents(prices.base))]
    if weight >= prices.free_kg:
        lines.append(("weight", cents(prices.per_kg * (weight - prices.free_kg))))
    options = sorted(set(options))
    for option in options:
        if option == "express":
            share = percent(sum(c for _, c in lines), tariff.options["express_percent"])
            lines.append((option, share))
        elif option in tariff.options:
            lines.append((option, cents(tariff.options[option])))
        else:
            raise TariffError(f"no option {option!r}")
    lines.append(("fuel", percent(sum(c for _, c in lines), tariff.fuel_percent)))
    return Quote(zone, weight, tuple(lines), sum(c for _, c in lines))
