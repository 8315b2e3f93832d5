"""Weights by which parcels are billed."""

from decimal import Decimal

DIVISOR = 5000
STEP = Decimal("0.5")


def volumetric_kg(size_cm):
    length, width, height = size_cm
    return length * width * height / DIVISOR


def billable_kg(weight_kg, size_cm):
    """The greater of actual and volumetric weight, in steps of half a kilogram."""
    if weight_kg <= 0 or min(size_cm) <= 0:
        raise ValueError("weight and sides must be greater than zero")
    weight = max(weight_kg, volumetric_kg(size_cm))
    steps = int(weight / 0.5) + 1
    return steps * STEP
