#!/usr/bin/env python3
"""Rate a manifest by a tariff file; see README.md."""
import argparse
import csv
import json
import sys
from decimal import ROUND_CEILING, Decimal

IMPERIAL = (Decimal("2.54"), Decimal("0.45359237"))


def price(rates, zone, kilos):
    table = rates[zone]
    for limit, amount in table["bands"]:
        if kilos <= limit:
            return Decimal(amount)
    limit, amount = table["bands"][-1]
    return Decimal(amount) + (kilos - limit) * Decimal(table["per_kg_above"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tariff")
    parser.add_argument("manifest")
    parser.add_argument("--divisor", type=Decimal, default=Decimal(4000))
    parser.add_argument("--step", type=Decimal, default=Decimal("0.5"))
    parser.add_argument("--units", choices=("metric", "imperial"), default="metric")
    parser.add_argument("--zone", action="append", default=[], metavar="PREFIX=Z")
    parser.add_argument("--from", dest="first", default="0000")
    parser.add_argument("--to", dest="last", default="9999")
    args = parser.parse_args()
    with open(args.tariff) as file:
        tariff = json.load(file)
    zones = tariff["zones"] | dict(pair.split("=") for pair in args.zone)
    length, weight = IMPERIAL if args.units == "imperial" else (Decimal(1), Decimal(1))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(("ref", "ship_date", "zone", "billable_kg", "base"))
    skipped = 0
    with open(args.manifest) as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            if not args.first <= row["ship_date"] <= args.last:
                continue
            zone = zones.get(row["postcode"][:2])
            if zone is None:
                print(f"{args.manifest}:{number}: no zone for {row['postcode']}", file=sys.stderr)
                skipped += 1
                continue
            volume = length**3 * Decimal(row["length"]) * Decimal(row["width"]) * Decimal(row["height"])
            kilos = max(weight * Decimal(row["weight"]), volume / args.divisor)
            kilos = (kilos / args.step).to_integral_value(ROUND_CEILING) * args.step
            base = price(tariff["rates"], zone, kilos)
            out.writerow((row["ref"], row["ship_date"], zone, kilos.normalize().to_eng_string(), f"{base:.2f}"))
    return 3 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
