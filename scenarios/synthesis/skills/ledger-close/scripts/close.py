"""Close a quarter: out/close.json and out/eliminations.csv from ledgers, contracts and rates."""

import collections
import csv
import datetime as dt
import json
import pathlib
import re
import sys
from fractions import Fraction

MONTHS = (
    "January February March April May June July August September October November December"
).split()
DATE = re.compile(rf"(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})")


def rows(path, delimiter=","):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def euros(value):
    """Rounded to the cent, halves away from zero."""
    cents = abs(value) * 100 + Fraction(1, 2)
    return (cents.numerator // cents.denominator) / 100 * (-1 if value < 0 else 1)


def quarter(opening):
    """The three months after the opening balances, as (year, month)."""
    day = dt.date.fromisoformat(opening[0]["as_of"])
    return [
        (day.year + (day.month + step - 1) // 12, (day.month + step - 1) % 12 + 1)
        for step in (1, 2, 3)
    ]


def number(text, comma):
    """An amount as a ledger writes it; parentheses are a minus."""
    bare = text.strip("() ")
    bare = bare.replace(".", "").replace(",", ".") if comma else bare.replace(",", "")
    return Fraction(bare or "0") * (-1 if text.strip().startswith("(") else 1)


def amount(row, comma):
    """Debits positive."""
    if "debit" in row:
        return number(row["debit"] or "0", comma) - number(row["credit"] or "0", comma)
    sign = -1 if row.get("side") == "C" else 1
    return sign * number(row["amount"], comma)


def day_first(texts):
    """Whether dates with slashes begin with the day."""
    pairs = [tuple(map(int, text.split("/")[:2])) for text in texts]
    return any(first > 12 for first, _ in pairs)


def ledger(path):
    """Its lines that are not void: account, partner, text, amount, (year, month) of posting."""
    comma = ";" in path.read_text(encoding="utf-8").partition("\n")[0]
    lines = rows(path, ";" if comma else ",")
    texts = [line["posting_date"] for line in lines]
    if "." in texts[0]:
        form = "%d.%m.%Y"
    elif "-" in texts[0]:
        form = "%Y-%m-%d"
    else:
        form = "%d/%m/%Y" if day_first(texts) else "%m/%d/%Y"
    for line in lines:
        if line["status"] != "void":
            day = dt.datetime.strptime(line["posting_date"], form)
            when = (day.year, day.month)
            yield line["account"], line["partner"], line["text"], amount(line, comma), when


def schedule_lines(text):
    """Contract, entity and the amounts of the months of each line of a table."""
    for found in re.finditer(r"^\|\s*(C-\d+)\s*\|\s*(\w+)\s*\|\s*\w+\s*\|(.+)\|\s*$", text, re.M):
        yield found[1], found[2], [number(cell, False) for cell in found[3].split("|")]


def contracts():
    """The line that counts for each contract, and the memo that it is from where it is from one."""
    folder = pathlib.Path("contracts")
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}
    lines, restated = {}, {}
    for name, text in texts.items():
        if not name.startswith("memo"):
            lines |= {contract: (entity, v) for contract, entity, v in schedule_lines(text)}
    memos = []
    for name, text in texts.items():
        signed = re.search(r"Countersigned:\s*\w", text)
        dated = DATE.search(text)
        if name.startswith("memo") and signed and dated:
            day = dt.date(int(dated[3]), MONTHS.index(dated[2]) + 1, int(dated[1]))
            memos.append((day, name.partition("_")[2], text))
    for _, memo, text in sorted(memos):
        for contract, entity, values in schedule_lines(text):
            lines[contract], restated[contract] = (entity, values), memo
    return lines, restated


class Close:
    def __init__(self):
        self.opening = rows("opening_balances.csv")
        self.months = quarter(self.opening)
        self.currency = {row["entity"]: row["currency"] for row in self.opening}
        self.kind = {row["account"]: row["line"] for row in rows("accounts.csv")}
        self.rates = {}
        for row in sorted(rows("rates.csv"), key=lambda row: row["status"] == "final"):
            key = row["currency"], row["month"], row["kind"]
            self.rates[key] = Fraction(row["units_per_eur"])

    def translated(self, entity, value, month, kind="average"):
        currency = self.currency[entity]
        if currency == "EUR":
            return value
        return value / self.rates[currency, f"{month[0]}-{month[1]:02}", kind]

    def run(self):
        lines, restated = contracts()
        last = self.months[-1]
        figures, balances, revenue = (collections.Counter() for _ in range(3))
        income, cost = collections.Counter(), collections.Counter()
        sold, bought, late = set(), set(), []
        for path in sorted(pathlib.Path("ledgers").glob("*.csv")):
            entity = path.stem.upper()
            for account, partner, text, value, when in ledger(path):
                kind, inside = self.kind[account], when in self.months
                if partner and kind in ("revenue", "cost_of_sales", "operating_expenses"):
                    found = re.search(r"IC-\d+", text)
                    reference = found[0] if found else text
                    if kind == "revenue" and inside:
                        sold.add(reference)
                        income[entity, partner] -= self.translated(entity, value, when)
                    elif kind != "revenue":
                        bought.add(reference)
                        if inside:
                            cost[partner, entity] += self.translated(entity, value, when)
                        elif when > last:
                            late.append((reference, partner, entity, value))
                elif partner or not inside:
                    continue
                elif kind == "receivables":
                    balances[entity] += value
                elif kind == "revenue":
                    revenue[entity] -= self.translated(entity, value, when)
                elif kind in ("cost_of_sales", "operating_expenses"):
                    figures[kind] += self.translated(entity, value, when)
        for reference, seller, buyer, value in late:
            if reference in sold:
                cost[seller, buyer] += self.translated(buyer, value, last)
        for entity, values in lines.values():
            for month, value in zip(self.months, values, strict=True):
                revenue[entity] += self.translated(entity, value, month)
        for row in self.opening:
            if self.kind[row["account"]] == "receivables" and not row["partner"]:
                balances[row["entity"]] += Fraction(row["balance"])
        receivables = sum(self.translated(e, v, last, "closing") for e, v in balances.items())
        group = sum(revenue.values())
        pairs = sorted(set(income) | set(cost))
        result = group - figures["cost_of_sales"] - figures["operating_expenses"]
        self.save(
            {
                "revenue": {e: euros(v) for e, v in revenue.items()} | {"group": euros(group)},
                "cost_of_sales": euros(figures["cost_of_sales"]),
                "operating_expenses": euros(figures["operating_expenses"]),
                "operating_result": euros(result),
                "receivables": euros(receivables),
                "elimination_difference": euros(sum(income.values()) - sum(cost.values())),
                "unmatched": sorted(sold - bought),
                "restated": restated,
            },
            [("-".join(pair), euros(income[pair]), euros(cost[pair])) for pair in pairs],
        )

    def save(self, close, pairs):
        out = pathlib.Path("out")
        out.mkdir(exist_ok=True)
        (out / "close.json").write_text(json.dumps(close, indent=2) + "\n")
        with open(out / "eliminations.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("pair", "income_eur", "cost_eur"))
            writer.writerows((p, f"{income:.2f}", f"{cost:.2f}") for p, income, cost in pairs)


if __name__ == "__main__":
    sys.exit(Close().run())
