"""Allocate a fund by policy.md and amendments/.

Writes out/awards.csv, out/exceptions.csv and out/summary.json.
"""

import collections
import csv
import datetime as dt
import json
import pathlib
import re
import zoneinfo
from fractions import Fraction

MONTHS = (
    "January February March April May June July August September October November December"
).split()
DAY = rf"(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})"


def rows(name):
    with open(f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def flat(text):
    return " ".join(text.split())


def day(found):
    return dt.date(int(found[2]), MONTHS.index(found[1]) + 1, int(found[0]))


def ten(value):
    """Rounded down to a multiple of 10."""
    return value // 10 * 10


def share(text):
    """A percentage, or "half", as a fraction."""
    return Fraction(1, 2) if text == "half" else Fraction(text.removesuffix(" percent")) / 100


class Policy:
    """The text as it holds for a fund, and the numbers in it."""

    def __init__(self, closing):
        text = pathlib.Path("policy.md").read_text(encoding="utf-8")
        self.clauses = {}
        for found in re.finditer(r"^## (\d+) .*?\n(.*?)(?=^## |\Z)", text, re.M | re.S):
            self.clauses[found[1]] = flat(found[2])
            for part in re.finditer(
                rf"^({found[1]}\.\d+) (.*?)(?=^{found[1]}\.\d|\Z)", found[2], re.M | re.S
            ):
                self.clauses[part[1]] = flat(part[2])
            for part in re.finditer(r"^\((\w)\) (.*?)(?=^\(\w\)|\n\n|\Z)", found[2], re.M | re.S):
                self.clauses[f"{found[1]} ({part[1]})"] = flat(part[2])
        for item in valid_items(closing):
            self.amend(item)
        self.read()

    def amend(self, item):
        if found := re.search(
            r'[Ii]n clause ([\d.]+(?: \(\w\))?)(?: as last amended)?, "(.+?)" becomes "(.+?)"', item
        ):
            self.clauses[found[1]] = self.clauses[found[1]].replace(found[2], found[3])
        elif found := re.search(r"[Ii]n clause ([\d.]+), the shares become: (.*?)\.", item):
            self.clauses[found[1]] = found[2]
        elif found := re.search(r"Clause ([\d.]+) is replaced: > (.*)", item):
            self.clauses[found[1]] = found[2].replace(" > ", " ")
        elif found := re.search(
            r'[Ii]n clause ([\d.]+), the first sentence is replaced: "(.*?)"', item
        ):
            rest = self.clauses[found[1]].partition(". ")[2]
            self.clauses[found[1]] = f"{found[2]} {rest}"
        elif found := re.search(r"(?:[Ii]n clause|Clause) ([\d.]+)(?:,| is amended)", item):
            self.clauses[found[1]] += " " + item
        else:
            print(f"not worked in, do it by hand: {item}")

    def read(self):
        text = self.clauses
        self.reserve = share(re.search(r"(\d+ percent)", text["1.1"])[1])
        self.shares = {p: share(s) for p, s in re.findall(r"(\w+) (\d+ percent)", text["1.2"])}
        self.least = int(re.search(r"([\d,]+) euros", text["2 (b)"])[1].replace(",", ""))
        self.number = {"one": 1, "two": 2, "three": 3}[
            re.search(r"first (\w+) of its branch", text["2 (d)"])[1]
        ]
        found = re.search(
            r"at most (\d+ percent) of the cost(?: in the (\w+) pot, and at most (\d+ percent))?",
            text["3"],
        )
        self.cost = collections.defaultdict(lambda: share(found[3] or found[1]))
        if found[2]:
            self.cost[found[2]] = share(found[1])
        self.new_first = "had no award in the two calendar years" in text["4"]
        self.closes = "the pot is closed" in text["5.2"]
        self.partial = share(re.search(r"at least (half|\d+ percent)", text["5.2"])[1])
        self.tens = "multiple of 10" in text["5.2"]
        self.ceiling = share(re.search(r"at most (\d+ percent) of the divided", text["6"])[1])
        small = re.search(r"fewer than (\d+) members of staff, at most (\d+ percent)", text["6"])
        self.small = (int(small[1]), share(small[2])) if small else (0, self.ceiling)
        for name, value in vars(self).items():
            if name not in ("clauses", "cost"):
                print(f"{name}: {value}")

    def most(self, staff):
        return self.small[1] if staff < self.small[0] else self.ceiling


def valid_items(closing):
    """The items of the amendments that hold for a fund with this closing day, in their order."""
    found, repealed = [], set()
    for path in pathlib.Path("amendments").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        adopted = re.match(rf"# Amendment of {DAY}", text)
        force = re.search(rf"^In force from {DAY}", text, re.M)
        if not adopted or not force or day(force.groups()) > closing:
            continue
        only = re.search(rf"for funds whose closing day is {DAY} or later", flat(text))
        if only and closing < day(only.groups()):
            continue
        body = text[force.end() :].partition("\nReason:")[0]
        parts = re.split(r"^\((\d)\) ", body, flags=re.M)
        if len(parts) == 1:
            found.append((day(adopted.groups()), "", flat(body[body.index("\n") :])))
        for number, item in zip(parts[1::2], parts[2::2], strict=True):
            found.append((day(adopted.groups()), number, flat(item)))
    for _, _, item in found:
        if gone := re.search(rf"Number \((\d)\) of the amendment of {DAY} is repealed", item):
            repealed.add((day(gone.groups()[1:]), gone[1]))
    return [
        item
        for when, number, item in sorted(found)
        if (when, number) not in repealed and "is repealed" not in item
    ]


def rulings(year, closing):
    """The ruling on each line of the list of exceptions."""
    lines = {row["exception"]: row for row in rows("exceptions")}

    def holds(office, row):
        return any(
            o["office"] == office
            and o["name"] == row["signed_by"]
            and o["from"] <= row["signed_on"] <= (o["to"] or "9999")
            for o in rows("officers")
        )

    def clause(row):
        other = row["clause"].removeprefix("withdraws ")
        return lines[other]["clause"] if other in lines else row["clause"]

    def first(row):
        if not row["signed_by"]:
            return "unsigned"
        if not holds("treasurer", row) and not holds("deputy treasurer", row):
            return "not_in_office"
        if not holds("treasurer", row) and not clause(row).startswith("2"):
            return "out_of_powers"
        if row["signed_on"] > str(closing):
            return "late"
        return "other_year" if row["year"] != str(year) else "accepted"

    found = {name: first(row) for name, row in lines.items()}
    for name, row in lines.items():
        other = row["clause"].removeprefix("withdraws ")
        if other in lines and found[name] == "accepted" and found[other] == "accepted":
            found[other] = "withdrawn"
    return found


class Allocation:
    def __init__(self):
        self.fund = json.loads(pathlib.Path("fund.json").read_text(encoding="utf-8"))
        local = dt.datetime.fromisoformat(self.fund["closing"])
        self.closing = local.replace(tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
        self.policy = Policy(local.date())
        self.rulings = rulings(self.fund["year"], local.date())
        self.granted = {
            (row["clause"], row["for"]): row["value"]
            for row in rows("exceptions")
            if self.rulings[row["exception"]] == "accepted"
        }
        self.branches = {row["branch"]: row for row in rows("branches")}
        self.requests = sorted(rows("requests"), key=lambda row: row["received_utc"])

    def exception(self, clause, row):
        keys = ((clause, f"request {row['request_id']}"), (clause, f"branch {row['branch']}"))
        return next((self.granted[key] for key in keys if key in self.granted), None)

    def ineligible(self):
        """The first clause that each request fails."""
        counted, failed = collections.Counter(), {}
        filed_by = str(self.closing.date())
        for row in self.requests:
            report = self.branches[row["branch"]]["report_filed"]
            received = dt.datetime.fromisoformat(row["received_utc"].replace("Z", "+00:00"))
            place = row["branch"], row["pot"]
            fails = {
                "2(a)": received > self.closing,
                "2(b)": Fraction(row["asked_eur"]) < self.policy.least,
                "2(c)": not report or report > filed_by,
            }
            wrong = [c for c, bad in fails.items() if bad and self.exception(c, row) is None]
            if not wrong:
                counted[place] += 1
                if counted[place] > self.policy.number and self.exception("2(d)", row) is None:
                    wrong = ["2(d)"]
            if wrong:
                failed[row["request_id"]] = wrong[0].replace("(", "").replace(")", "")
        return failed

    def order(self, row):
        branch, year = self.branches[row["branch"]], self.fund["year"]
        recent = branch["last_award"] in (str(year - 1), str(year - 2))
        visitors = next(int(v) for k, v in branch.items() if k.startswith("visitors"))
        return row["urgency"], self.policy.new_first and recent, -visitors, row["received_utc"]

    def run(self):
        policy, failed = self.policy, self.ineligible()
        reserve = self.fund["fund_eur"] * policy.reserve
        divided = self.fund["fund_eur"] - reserve
        spent, awards, pots = collections.Counter(), {}, {}
        for pot in self.fund["pots"]:
            size = left = divided * policy.shares[pot]
            eligible = [
                r for r in self.requests if r["pot"] == pot and r["request_id"] not in failed
            ]
            closed = False
            for row in sorted(eligible, key=self.order):
                value = self.exception("3", row)
                most = Fraction(value) / 100 if value else policy.cost[pot]
                whole = amount = ten(
                    min(Fraction(row["asked_eur"]), Fraction(row["cost_eur"]) * most)
                )
                value = self.exception("6", row)
                staff = int(self.branches[row["branch"]]["staff"])
                ceiling = divided * (Fraction(value) / 100 if value else policy.most(staff))
                room = ceiling - spent[row["branch"]]
                amount = min(amount, ten(max(room, 0))) if amount > room else amount
                outcome, award = "full" if amount == whole else "cut", amount
                if not amount or closed:
                    outcome, award = "passed_over", 0
                elif amount > left:
                    award = ten(left) if policy.tens else left
                    good = award >= amount * policy.partial and award
                    outcome, award = ("partial", award) if good else ("passed_over", 0)
                    closed = policy.closes
                spent[row["branch"]] += award
                left -= award
                awards[row["request_id"]] = (outcome, award, "")
            pots[pot] = {
                "size_eur": float(size),
                "awarded_eur": float(size - left),
                "left_eur": float(left),
            }
        awards |= {request: ("ineligible", 0, clause) for request, clause in failed.items()}
        self.save(awards, pots, float(reserve))

    def save(self, awards, pots, reserve):
        out = pathlib.Path("out")
        out.mkdir(exist_ok=True)
        lines = [
            (r, outcome, f"{float(eur):g}", c) for r, (outcome, eur, c) in sorted(awards.items())
        ]
        table(out / "awards.csv", ("request_id", "outcome", "award_eur", "clause"), lines)
        table(out / "exceptions.csv", ("exception", "ruling"), self.rulings.items())
        summary = {
            "fund": self.fund["fund"],
            "reserve_eur": reserve,
            "pots": pots,
            "awarded_eur": sum(pot["awarded_eur"] for pot in pots.values()),
            "reserve_after_eur": reserve + sum(pot["left_eur"] for pot in pots.values()),
        }
        (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")


def table(path, head, lines):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(lines)


if __name__ == "__main__":
    Allocation().run()
