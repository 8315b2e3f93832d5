"""Close a month of travel expenses: out/ledger.csv, out/report.json and out/reminders.md."""

import collections
import csv
import datetime as dt
import json
import pathlib
import re
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def rows(path, delimiter=","):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


class Rules:
    """Numbers of the rules of one year."""

    def __init__(self, year):
        text = " ".join(pathlib.Path(f"policy/travel_{year}.md").read_text("utf-8").split())
        hotels = re.search(r"Hotel, per night[^:]*: (.*?)\.", text)[1]
        self.hotel = {
            place: Decimal(most) for place, most in re.findall(r"\b([A-Z]{2}) (\d+)", hotels)
        }
        self.meals = Decimal(re.search(r"Meals: EUR (\d+(?:\.\d+)?) a day", text)[1])
        self.late = int(re.search(r"more than (\d+) days after the purchase", text)[1])
        self.receipt = Decimal(re.search(r"every purchase of more than EUR ([\d.]+\d)", text)[1])
        self.cash = re.search(r"withdrawals \(category code (\d+)\)", text)[1]
        section = re.search(r"Categories of card purchases\.\*\* (.*?) all others", text)[1]
        self.categories = [
            (int(first), int(last or first), name)
            for first, last, name in re.findall(r"(\d{4})(?: to (\d{4}))? ([a-z]+)", section)
        ]

    def category(self, code):
        fits = (name for first, last, name in self.categories if first <= int(code) <= last)
        return next(fits, "other")


def cards(rules):
    """Card purchases of both banks: id, employee, date, category, amount, currency."""
    for row in rows("cards/north_bank.csv", ";"):
        if row["mcc"] != rules.cash:
            day = dt.datetime.strptime(row["purchase"], "%d.%m.%Y").date()
            amount = Decimal(row["amount"].replace(".", "").replace(",", "."))
            category = rules.category(row["mcc"])
            yield row["ref"], row["holder"], str(day), category, amount, row["currency"]
    for row in json.loads(pathlib.Path("cards/south_bank.json").read_text("utf-8")):
        if str(row["mcc"]) != rules.cash:
            last, first = row["holder"].split(", ")
            amount = Decimal(row["minor_units"]) / 100
            category = rules.category(row["mcc"])
            yield row["id"], f"{first} {last}", row["purchased"], category, amount, row["currency"]


class Month:
    def __init__(self):
        (path,) = pathlib.Path("rates").glob("daily_rates_*.csv")
        self.name = path.stem.rpartition("_")[2]
        self.rules = Rules(self.name[:4])
        self.rates = sorted(rows(path), key=lambda row: row["date"])
        self.centres = sorted(rows("people/cost_centres.csv"), key=lambda row: row["valid_from"])
        self.expenses = [e for e in cards(self.rules) if e[2].startswith(self.name)]
        known = {(who, day, amount, paid) for _, who, day, _, amount, paid in self.expenses}
        self.submitted = {}
        for row in rows("claims/cash_claims.csv"):
            amount = Decimal(row["amount"])
            key = (row["employee"], row["date"], amount, row["currency"])
            if row["date"].startswith(self.name) and key not in known:
                self.submitted[row["id"]] = row["submitted"]
                self.expenses.append((row["id"], *key[:2], row["category"], *key[2:]))

    def euros(self, amount, currency, day):
        if currency == "EUR":
            return amount.quantize(CENT, ROUND_HALF_UP)
        rate = [row[currency] for row in self.rates if row["date"] <= day and row[currency]][-1]
        return (amount / Decimal(rate)).quantize(CENT, ROUND_HALF_UP)

    def centre(self, employee, day):
        held = [r for r in self.centres if r["employee"] == employee and r["valid_from"] <= day]
        return held[-1]["cost_centre"]

    def close(self):
        ledger, currencies, centres = [], collections.Counter(), collections.Counter()
        meals = collections.Counter()
        for identity, who, day, category, amount, paid in sorted(self.expenses, key=lambda e: e[2]):
            value = self.euros(amount, paid, day)
            ledger.append((identity, who, day, category, self.centre(who, day), value))
            currencies[paid] += value
            centres[self.centre(who, day)] += value
            if category == "meals" and value > 0:
                meals[who, day] += value
        received = {row["id"] for row in rows("claims/receipts_received.csv")}
        missing = [
            e
            for e in ledger
            if e[5] > self.rules.receipt and e[3] != "rail" and e[0] not in received
        ]
        report = {
            "month": self.name,
            "total": float(sum(e[5] for e in ledger)),
            "by_currency": {name: float(value) for name, value in sorted(currencies.items())},
            "by_cost_centre": {name: float(value) for name, value in sorted(centres.items())},
            "hotel": [e[0] for e in ledger if e[3] == "hotel" and self.over(e)],
            "meals": [
                {"employee": who, "date": day}
                for (who, day), value in sorted(meals.items())
                if value > self.rules.meals
            ],
            "late": [e[0] for e in ledger if e[0] in self.submitted and self.is_late(e)],
            "missing_receipts": [e[0] for e in missing],
        }
        self.save(ledger, report, missing)

    def over(self, expense):
        """Whether a hotel costs more than its nights may; refunds do not count."""
        _, who, day, _, _, value = expense
        for trip in rows("people/trips.csv"):
            if trip["employee"] == who and trip["to"] == day and value > 0:
                first, last = (dt.date.fromisoformat(trip[key]) for key in ("from", "to"))
                return value > self.rules.hotel[trip["country"]] * (last - first).days
        return False

    def is_late(self, expense):
        bought, handed_in = map(dt.date.fromisoformat, (expense[2], self.submitted[expense[0]]))
        return (handed_in - bought).days > self.rules.late

    def save(self, ledger, report, missing):
        out = pathlib.Path("out")
        out.mkdir(exist_ok=True)
        with open(out / "ledger.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("id", "employee", "date", "category", "cost_centre", "eur"))
            writer.writerows(ledger)
        (out / "report.json").write_text(json.dumps(report, indent=2) + "\n")
        owed = collections.defaultdict(list)
        for expense in missing:
            owed[expense[1]].append(expense[5])
        lines = ["Please hand in the receipts that are missing.", ""]
        lines += ["| employee | receipts | eur |", "|---|---|---|"]
        lines += [f"| {who} | {len(v)} | {sum(v)} |" for who, v in sorted(owed.items())]
        (out / "reminders.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    Month().close()
