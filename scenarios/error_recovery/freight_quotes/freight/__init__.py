"""Quotes for parcels, by the carrier contract in docs/contract.md."""

from freight.quotes import Quote, quote
from freight.tariff import Tariff, TariffError, Zone, load_tariff
from freight.weight import billable_kg

__all__ = ["Quote", "Tariff", "TariffError", "Zone", "billable_kg", "load_tariff", "quote"]
