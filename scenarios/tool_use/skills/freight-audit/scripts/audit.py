"""Audit a carrier's invoice by contract/ and manifests/: out/claims.csv and out/summary.json."""

import csv
import datetime as dt
import io
import json
import pathlib
import re
import subprocess
import sys
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")
MONTHS = (
    "January February March April May June July August September October November December"
).split()
#: An agent's shell may have no PATH, and then Python does not know where it is.
PYTHON = sys.executable or "python3"
CONTRACT = pathlib.Path("contract")


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def flat(path):
    """A paper as one line without emphasis."""
    return " ".join(path.read_text(encoding="utf-8").replace("**", "").split())


def find(pattern, text, default=None):
    found = re.search(pattern, text)
    return found[1] if found else default


def day_in(text):
    found = re.search(rf"(?:from|until) (\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})", text)
    return dt.date(int(found[3]), MONTHS.index(found[2]) + 1, int(found[1])) if found else None


def terms():
    """What holds from which day on, by the papers that bind: a list of (day, terms)."""
    register = rows(CONTRACT / "register.csv")
    agreement = flat(CONTRACT / "agreement.md")
    tariffs = [r["document"] for r in register if r["document"].endswith(".json")]
    now = {
        "tariff": tariffs[0] if tariffs else "",
        "divisor": find(r"divided by (\d+)", agreement),
        "step": "1" if "next full kilogram" in agreement else find(r"next ([\d.]+) kg", agreement),
        "factor": Decimal(find(r"multiplied by (\d+(?:\.\d+)?)", agreement)),
        "minimum": Decimal(find(r"less than EUR (\d+\.\d+)", agreement)),
        "remote": Decimal(find(r"costs EUR (\d+\.\d+) more", agreement)),
        "tolerance": Decimal(find(r"more than EUR (\d+\.\d+) above", agreement)),
        "fuel_cap": Decimal(100),
        "zones": {},
    }
    periods = [(dt.date.min, now)]
    binding = [
        row
        for row in sorted(register, key=lambda row: row["date"])
        if row["document"].startswith("addendum") and row["state"].startswith("signed by both")
    ]
    for row in binding:
        text = flat(CONTRACT / row["document"])
        now = dict(now, zones=dict(now["zones"]))
        now["tariff"] = find(r"`(\w+\.json)` is the tariff", text, now["tariff"])
        now["divisor"] = find(r"divisor is (\d+)", text, now["divisor"])
        now["step"] = find(r"rounded up to the next ([\d.]+\d) kg", text, now["step"])
        now["factor"] = Decimal(find(r"factor is (\d+(?:\.\d+)?)", text, now["factor"]))
        now["minimum"] = Decimal(find(r"minimum[^.]*? is EUR (\d+\.\d+)", text, now["minimum"]))
        now["remote"] = Decimal(find(r"supplement[^.]*? is EUR (\d+\.\d+)", text, now["remote"]))
        now["fuel_cap"] = Decimal(find(r"at most (\d+(?:\.\d+)?) ?%", text, now["fuel_cap"]))
        for prefixes, zone in re.findall(
            r"postcodes that begin with ([\d, or]+?) are zone (\w+)", text
        ):
            now["zones"] |= dict.fromkeys(re.findall(r"\d+", prefixes), zone)
        periods.append((day_in(text), now))
    return periods


def units():
    """The units of each manifest, by its file's name."""
    text = pathlib.Path("manifests/README.md").read_text(encoding="utf-8")
    for item in re.split(r"^- ", text, flags=re.MULTILINE):
        system = "imperial" if re.search(r"inch|pound", item) else "metric"
        yield from ((name, system) for name in re.findall(r"`(\w+\.csv)`", item))


def rated(manifest, system, first, last, held):
    """The tool's base price of each parcel that was shipped in a period."""
    command = [PYTHON, "tools/rate.py", str(CONTRACT / held["tariff"]), str(manifest)]
    command += ["--divisor", held["divisor"], "--step", held["step"], "--units", system]
    command += ["--from", str(first), "--to", str(last)]
    for prefix, zone in held["zones"].items():
        command += ["--zone", f"{prefix}={zone}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return {row["ref"]: Decimal(row["base"]) for row in csv.DictReader(io.StringIO(done.stdout))}


def prices(manifest, system):
    """What each parcel of a depot costs by the agreement; 0 for one that was not shipped."""
    periods, found = terms(), {}
    fuel = sorted((dt.date.fromisoformat(r["week_from"]), Decimal(r["percent"])) for r in fuels())
    remote = {row["postcode"] for row in rows(CONTRACT / "remote.csv")}
    parcels = {row["ref"]: row for row in rows(manifest)}
    for number, (first, held) in enumerate(periods):
        following = periods[number + 1][0] if number + 1 < len(periods) else dt.date.max
        last = following - dt.timedelta(days=1)
        for ref, base in rated(manifest, system, first, last, held).items():
            row = parcels[ref]
            day = dt.date.fromisoformat(row["ship_date"])
            price = base * (held["factor"] if row["service"] == "express" else 1)
            price = max(price, held["minimum"])
            percent = [value for week, value in fuel if week <= day][-1]
            price *= 1 + min(percent, held["fuel_cap"]) / 100
            price += held["remote"] if row["postcode"] in remote else 0
            shipped = row["status"] == "shipped"
            found[ref] = price.quantize(CENT, ROUND_HALF_UP) if shipped else Decimal(0)
    return found, parcels


def fuels():
    return [row for path in sorted(CONTRACT.glob("fuel_*.csv")) for row in rows(path)]


def bare(reference):
    return re.sub(r"[\s-]", "", reference).upper()


def main():
    systems = dict(units())
    price, status, totals = {}, {}, {}
    for manifest in sorted(pathlib.Path("manifests").glob("*.csv")):
        found, parcels = prices(manifest, systems.get(manifest.name, "metric"))
        totals[manifest.stem] = float(sum(found.values()))
        price |= found
        status |= {ref: row["status"] for ref, row in parcels.items()}
    known = {bare(ref): ref for ref in status}
    tolerance = terms()[0][1]["tolerance"]
    (invoice,) = pathlib.Path("invoice").glob("*.csv")
    lines = sorted(rows(invoice), key=lambda row: int(row["line"]))
    claims, under, billed = [], [], set()
    for row in lines:
        ref, amount = known.get(bare(row["reference"])), Decimal(row["amount_eur"])
        expected, reason = Decimal(0), ""
        if ref is None:
            reason = "unknown"
        elif status[ref] == "cancelled":
            reason = "cancelled"
        elif ref in billed:
            reason = "duplicate"
        else:
            expected = price[ref]
            reason = "overbilled" if amount - expected > tolerance else ""
            if expected - amount > tolerance:
                under.append(ref)
        billed.add(ref)
        if reason:
            claim = amount - expected
            claims.append((row["line"], row["reference"], reason, amount, expected, claim))
    out = pathlib.Path("out")
    out.mkdir(exist_ok=True)
    with open(out / "claims.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("line", "reference", "reason", "billed", "expected", "claim"))
        writer.writerows((*c[:3], *(f"{value:.2f}" for value in c[3:])) for c in claims)
    reasons = ("overbilled", "duplicate", "cancelled", "unknown")
    summary = {
        "invoice": invoice.stem,
        "expected": totals,
        "claim_total": float(sum(claim[5] for claim in claims)),
        "claimed": {r: [int(c[0]) for c in claims if c[2] == r] for r in reasons},
        "underbilled": sorted(under),
        "unbilled": sorted(r for r in status if status[r] == "shipped" and r not in billed),
    }
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")


if __name__ == "__main__":
    main()
